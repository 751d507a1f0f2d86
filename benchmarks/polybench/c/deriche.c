/* Deriche's recursive edge detector: forward and backward along the rows, then along the columns */
#include <math.h>

void kernel_deriche(int w, int h, double alpha, double image[restrict w][h], double out[restrict w][h],
                    double y1[restrict w][h], double y2[restrict w][h])
{
    int i, j;
    double k, a1, a2, a3, a4, b1, b2;
    double xp, tp, yp, ypp; /* the previous input, and the two previous outputs */
    double xn, xnn, tn, tnn, yn, ynn; /* the next two of each, on the way back */
#pragma scop
    k = (1.0 - exp(-alpha)) * (1.0 - exp(-alpha)) / (1.0 + 2.0 * alpha * exp(-alpha) - exp(2.0 * alpha));
    a1 = k;
    a2 = k * exp(-alpha) * (alpha - 1.0);
    a3 = k * exp(-alpha) * (alpha + 1.0);
    a4 = -k * exp(-2.0 * alpha);
    b1 = pow(2.0, -alpha);
    b2 = -exp(-2.0 * alpha);
    for (i = 0; i < w; i++) {
        yp = 0.0;
        ypp = 0.0;
        xp = 0.0;
        for (j = 0; j < h; j++) {
            y1[i][j] = a1 * image[i][j] + a2 * xp + b1 * yp + b2 * ypp;
            xp = image[i][j];
            ypp = yp;
            yp = y1[i][j];
        }
    }
    for (i = 0; i < w; i++) {
        yn = 0.0;
        ynn = 0.0;
        xn = 0.0;
        xnn = 0.0;
        for (j = h - 1; j >= 0; j--) {
            y2[i][j] = a3 * xn + a4 * xnn + b1 * yn + b2 * ynn;
            xnn = xn;
            xn = image[i][j];
            ynn = yn;
            yn = y2[i][j];
        }
    }
    for (i = 0; i < w; i++)
        for (j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
    for (j = 0; j < h; j++) {
        tp = 0.0;
        yp = 0.0;
        ypp = 0.0;
        for (i = 0; i < w; i++) {
            y1[i][j] = a1 * out[i][j] + a2 * tp + b1 * yp + b2 * ypp;
            tp = out[i][j];
            ypp = yp;
            yp = y1[i][j];
        }
    }
    for (j = 0; j < h; j++) {
        tn = 0.0;
        tnn = 0.0;
        yn = 0.0;
        ynn = 0.0;
        for (i = w - 1; i >= 0; i--) {
            y2[i][j] = a3 * tn + a4 * tnn + b1 * yn + b2 * ynn;
            tnn = tn;
            tn = out[i][j];
            ynn = yn;
            yn = y2[i][j];
        }
    }
    for (i = 0; i < w; i++)
        for (j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
#pragma endscop
}
