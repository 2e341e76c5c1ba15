# SPDX-License-Identifier: BSD-3-Clause
# The sources are those of the repository that this file is in.
import pathlib

from spack.package import *


class Stoker(MesonPackage):
    """An asynchronous progress engine for MPI collectives, and a drop-in library for unmodified programs."""

    git = pathlib.Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("otf2", default=False, description="stoker trace writes archives in the format OTF2")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python", type="build")  # for the manual pages

    depends_on("mpi")
    depends_on("hwloc@2.5:")
    depends_on("numactl")
    depends_on("boost@1.74:")
    depends_on("fmt")
    depends_on("spdlog")
    depends_on("tomlplusplus")
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("fftw~mpi")
    depends_on("blas")
    depends_on("lapack")
    depends_on("otf2@3:", when="+otf2")

    conflicts("%gcc@:11", msg="C++20 is needed")
    for other in ("intel-oneapi-mpi", "cray-mpich", "mvapich2", "mvapich"):
        conflicts(f"^[virtuals=mpi] {other}", msg="stoker is built for MPICH or Open MPI")

    def meson_args(self):
        otf2 = "enabled" if self.spec.satisfies("+otf2") else "disabled"
        return [f"-Dmpi={self.spec['mpi'].name}", f"-Dotf2={otf2}", "-Dtests=disabled", "-Dman=enabled"]

    def setup_run_environment(self, env):
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
