/* Most pairs in a folding of RNA, by dynamic programming; bases are 0 to 3, and those that sum to 3 pair */

#define PAIRS(a, b) ((a) + (b) == 3 ? 1 : 0)
#define MAX(a, b) ((a) >= (b) ? (a) : (b))

typedef char base;

void kernel_nussinov(int n, base seq[restrict n], int table[restrict n][n])
{
    int i, j, k;
#pragma scop
    for (i = n - 1; i >= 0; i--)
        for (j = i + 1; j < n; j++) {
            if (j - 1 >= 0)
                table[i][j] = MAX(table[i][j], table[i][j - 1]);
            if (i + 1 < n)
                table[i][j] = MAX(table[i][j], table[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < n) {
                if (i < j - 1) /* neighbours do not pair */
                    table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + PAIRS(seq[i], seq[j]));
                else
                    table[i][j] = MAX(table[i][j], table[i + 1][j - 1]);
            }
            for (k = i + 1; k < j; k++)
                table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
        }
#pragma endscop
}
