// SPDX-License-Identifier: BSD-3-Clause
// PETSc's pipelined conjugate gradients, which overlap MPI_Iallreduce with the matrix product, on a 2-D Laplacian with
// a known solution. Prints iterations, residual and error; exits 1 when it does not converge to it.
#include <petscksp.h>

static PetscErrorCode assemble(Mat matrix, PetscInt side) {
  PetscInt first = 0, end = 0;
  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(matrix, &first, &end));
  for (PetscInt row = first; row < end; ++row) {
    const PetscInt x = row % side, y = row / side;
    PetscCall(MatSetValue(matrix, row, row, 4.0, INSERT_VALUES));
    if (x > 0) PetscCall(MatSetValue(matrix, row, row - 1, -1.0, INSERT_VALUES));
    if (x < side - 1) PetscCall(MatSetValue(matrix, row, row + 1, -1.0, INSERT_VALUES));
    if (y > 0) PetscCall(MatSetValue(matrix, row, row - side, -1.0, INSERT_VALUES));
    if (y < side - 1) PetscCall(MatSetValue(matrix, row, row + side, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(PetscBool* good) {
  const PetscInt side = 100;
  Mat matrix;
  Vec solution, right_side, exact;
  KSP solver;
  PetscReal error = 0, norm = 0, residual = 0;
  PetscInt iterations = 0;
  KSPConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(
      MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, side * side, side * side, 5, NULL, 4, NULL, &matrix));
  PetscCall(assemble(matrix, side));
  PetscCall(MatCreateVecs(matrix, &solution, &right_side));
  PetscCall(VecDuplicate(solution, &exact));
  PetscCall(VecSet(exact, 1.0));
  PetscCall(MatMult(matrix, exact, right_side));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetTolerances(solver, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSolve(solver, right_side, solution));
  PetscCall(KSPGetConvergedReason(solver, &reason));
  PetscCall(KSPGetIterationNumber(solver, &iterations));
  PetscCall(KSPGetResidualNorm(solver, &residual));
  PetscCall(VecNorm(exact, NORM_2, &norm));
  PetscCall(VecAXPY(exact, -1.0, solution));
  PetscCall(VecNorm(exact, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations %d residual %.3e error %.3e\n", (int)iterations, (double)residual,
                        (double)(error / norm)));
  *good = reason > 0 && error / norm < 1e-5 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&right_side));
  PetscCall(VecDestroy(&solution));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  PetscBool good = PETSC_FALSE;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(solve(&good));
  PetscCall(PetscFinalize());
  return good ? 0 : 1;
}
