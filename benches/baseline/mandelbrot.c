#include <stdint.h>

void run(void *const *argument) {
    int64_t *restrict image = argument[0];
    int64_t height = *(int64_t *)argument[1], width = *(int64_t *)argument[2], limit = *(int64_t *)argument[3];
#pragma omp parallel for
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            double re = 0.0, im = 0.0;
            int64_t n = 0;
            while (re * re + im * im <= 4.0 && n < limit) {
                double next = re * re - im * im + (3.5 * x / width - 2.5);
                im = 2.0 * re * im + (2.0 * y / height - 1.0);
                re = next;
                n++;
            }
            image[y * width + x] = n;
        }
}
