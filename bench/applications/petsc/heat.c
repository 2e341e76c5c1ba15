// SPDX-License-Identifier: BSD-3-Clause
// Heat in a cube, by implicit steps in time: each solves a 7-point system with PETSc. Solver, preconditioner and the
// way that halos go come from PETSc's own options; -side and -steps from here. Prints what the steps took and what came
// out of them.
#include <petscdmda.h>
#include <petscksp.h>

// Identity minus the step's length times the Laplacian.
static PetscErrorCode assemble(DM grid, PetscInt side, PetscReal step, Mat matrix) {
  DMDALocalInfo info;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(grid, &info));
  for (PetscInt z = info.zs; z < info.zs + info.zm; ++z) {
    for (PetscInt y = info.ys; y < info.ys + info.ym; ++y) {
      for (PetscInt x = info.xs; x < info.xs + info.xm; ++x) {
        MatStencil row = {z, y, x, 0}, columns[7];
        PetscScalar values[7];
        PetscInt count = 0;
        for (int direction = 0; direction < 7; ++direction) {
          MatStencil column = row;
          PetscInt* const moved[3] = {&column.i, &column.j, &column.k};
          if (direction > 0) *moved[(direction - 1) / 2] += direction % 2 != 0 ? -1 : 1;
          if (column.i < 0 || column.j < 0 || column.k < 0) continue;
          if (column.i >= side || column.j >= side || column.k >= side) continue;
          columns[count] = column;
          values[count++] = direction == 0 ? 1 + 6 * step : -step;
        }
        PetscCall(MatSetValuesStencil(matrix, 1, &row, count, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

// A corner of the cube, which is heated in each step.
static PetscErrorCode warm_up(DM grid, PetscInt side, Vec heat) {
  DMDALocalInfo info;
  PetscScalar*** values;
  PetscFunctionBeginUser;
  PetscCall(VecSet(heat, 0));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  PetscCall(DMDAVecGetArray(grid, heat, &values));
  for (PetscInt z = info.zs; z < info.zs + info.zm; ++z)
    for (PetscInt y = info.ys; y < info.ys + info.ym; ++y)
      for (PetscInt x = info.xs; x < info.xs + info.xm; ++x)
        if (x + y + z < side) values[z][y][x] = 1;
  PetscCall(DMDAVecRestoreArray(grid, heat, &values));
  PetscFunctionReturn(0);
}

static PetscErrorCode run(PetscInt side, PetscInt steps, PetscReal step) {
  DM grid;
  Mat matrix;
  Vec heat, next, heater;
  KSP solver;
  PetscInt total = 0;
  PetscReal norm = 0, residual = 0;
  double began = 0, took = 0;
  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                         side, side, side, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &grid));
  PetscCall(DMSetFromOptions(grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMCreateMatrix(grid, &matrix));
  PetscCall(assemble(grid, side, step, matrix));
  PetscCall(DMCreateGlobalVector(grid, &heat));
  PetscCall(VecDuplicate(heat, &next));
  PetscCall(VecDuplicate(heat, &heater));
  PetscCall(warm_up(grid, side, heater));
  PetscCall(VecCopy(heater, heat));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetTolerances(solver, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSetUp(solver));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  began = MPI_Wtime();
  for (PetscInt i = 0; i < steps; ++i) {
    PetscInt iterations = 0;
    PetscCall(KSPSolve(solver, heat, next));
    PetscCall(KSPGetIterationNumber(solver, &iterations));
    total += iterations;
    PetscCall(VecWAXPY(heat, 1.0, heater, next));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  took = MPI_Wtime() - began;
  PetscCall(VecNorm(heat, NORM_2, &norm));
  PetscCall(KSPGetResidualNorm(solver, &residual));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "steps took %.6f s\niterations %d\nnorm %.12e\nlast residual %.3e\n", took,
                        (int)total, (double)norm, (double)residual));
  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&heater));
  PetscCall(VecDestroy(&next));
  PetscCall(VecDestroy(&heat));
  PetscCall(MatDestroy(&matrix));
  PetscCall(DMDestroy(&grid));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  PetscInt side = 64, steps = 10;
  PetscReal step = 100;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-step", &step, NULL));
  PetscCall(run(side, steps, step));
  PetscCall(PetscFinalize());
  return 0;
}
