/* A[r, q, :] = A[r, q, :] C4 for all r and q */

void kernel_doitgen(int nq, int nr, int np, double A[restrict nr][nq][np], double C4[restrict np][np],
                    double row[restrict np])
{
    int r, q, p, s;
#pragma scop
    for (r = 0; r < nr; r++)
        for (q = 0; q < nq; q++) {
            for (p = 0; p < np; p++) {
                row[p] = 0.0;
                for (s = 0; s < np; s++)
                    row[p] += A[r][q][s] * C4[s][p];
            }
            for (p = 0; p < np; p++)
                A[r][q][p] = row[p];
        }
#pragma endscop
}
