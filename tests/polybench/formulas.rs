//! The kernels as loops over vectors, in the order of the C code of PolyBench 4.2.

use crate::memory::{Array, Memory};

/// Runs a kernel in place.
pub(crate) fn run(kernel: &str, memory: &mut Memory) {
    match kernel {
        "adi" => adi(memory),
        "atax" => atax(memory),
        "bicg" => bicg(memory),
        "cholesky" => with(memory, ["A"], |_, [a]| cholesky(a)),
        "correlation" => with(memory, ["data", "corr"], |_, [data, corr]| correlation(data, corr)),
        "covariance" => with(memory, ["data", "cov"], |_, [data, cov]| covariance(data, cov)),
        "deriche" => deriche(memory),
        "doitgen" => with(memory, ["A", "C4"], |_, [a, c4]| doitgen(a, c4)),
        "durbin" => with(memory, ["r", "y"], |_, [r, y]| durbin(r, y)),
        "fdtd_2d" => fdtd_2d(memory),
        "floyd_warshall" => with(memory, ["path"], |_, [path]| floyd_warshall(path)),
        "gemm" => gemm(memory),
        "gemver" => gemver(memory),
        "gesummv" => gesummv(memory),
        "gramschmidt" => with(memory, ["A", "R", "Q"], |_, [a, r, q]| gramschmidt(a, r, q)),
        "heat_3d" => alternate(memory, heat),
        "jacobi_1d" => alternate(memory, jacobi_1d),
        "jacobi_2d" => alternate(memory, jacobi_2d),
        "k2mm" => k2mm(memory),
        "k3mm" => with(memory, ["A", "B", "C", "D", "G"], |_, [a, b, c, d, g]| {
            *g = product(&product(a, b), &product(c, d));
        }),
        "lu" => with(memory, ["A"], |_, [a]| lu(a)),
        "ludcmp" => with(memory, ["A", "b", "x", "y"], |_, [a, b, x, y]| ludcmp(a, b, x, y)),
        "mvt" => mvt(memory),
        "nussinov" => with(memory, ["seq", "table"], |_, [seq, table]| nussinov(seq, table)),
        "seidel_2d" => with(memory, ["A"], |sizes, [a]| seidel_2d(a, sizes.size("TSTEPS"))),
        "symm" => symm(memory),
        "syr2k" => syr2k(memory),
        "syrk" => syrk(memory),
        "trisolv" => with(memory, ["L", "x", "b"], |_, [l, x, b]| trisolv(l, x, b)),
        "trmm" => trmm(memory),
        other => panic!("no formula for `{other}`"),
    }
}

/// Takes arrays out of the memory for a function, and puts them back.
fn with<const COUNT: usize>(
    memory: &mut Memory,
    names: [&str; COUNT],
    formula: impl FnOnce(&Memory, [&mut Array; COUNT]),
) {
    let mut arrays = names.map(|name| memory.take(name));
    formula(memory, arrays.each_mut());
    names.into_iter().zip(arrays).for_each(|(name, array)| memory.put(name, array));
}

fn product(a: &Array, b: &Array) -> Array {
    let (rows, terms, columns) = (a.shape[0], a.shape[1], b.shape[1]);
    let mut c = Array::zeros(&[rows, columns]);
    for i in 0..rows {
        for j in 0..columns {
            for k in 0..terms {
                c[(i, j)] += a[(i, k)] * b[(k, j)];
            }
        }
    }
    c
}

fn gemm(memory: &mut Memory) {
    let (alpha, beta) = (memory.scalar("alpha"), memory.scalar("beta"));
    with(memory, ["C", "A", "B"], |_, [c, a, b]| {
        let sum = product(a, b);
        c.elements.iter_mut().zip(&sum.elements).for_each(|(c, sum)| *c = beta * *c + alpha * sum);
    });
}

fn k2mm(memory: &mut Memory) {
    let (alpha, beta) = (memory.scalar("alpha"), memory.scalar("beta"));
    with(memory, ["A", "B", "C", "D"], |_, [a, b, c, d]| {
        let sum = product(&product(a, b), c);
        d.elements.iter_mut().zip(&sum.elements).for_each(|(d, sum)| *d = beta * *d + alpha * sum);
    });
}

fn gemver(memory: &mut Memory) {
    let (alpha, beta, n) = (memory.scalar("alpha"), memory.scalar("beta"), memory.size("N"));
    let names = ["A", "u1", "v1", "u2", "v2", "w", "x", "y", "z"];
    with(memory, names, |_, [a, u1, v1, u2, v2, w, x, y, z]| {
        for i in 0..n {
            for j in 0..n {
                a[(i, j)] += u1[i] * v1[j] + u2[i] * v2[j];
            }
        }
        for i in 0..n {
            x[i] += (0..n).map(|j| beta * a[(j, i)] * y[j]).sum::<f64>() + z[i];
        }
        for i in 0..n {
            w[i] += (0..n).map(|j| alpha * a[(i, j)] * x[j]).sum::<f64>();
        }
    });
}

fn gesummv(memory: &mut Memory) {
    let (alpha, beta, n) = (memory.scalar("alpha"), memory.scalar("beta"), memory.size("N"));
    with(memory, ["A", "B", "x", "y"], |_, [a, b, x, y]| {
        for i in 0..n {
            y[i] = (0..n).map(|j| (alpha * a[(i, j)] + beta * b[(i, j)]) * x[j]).sum();
        }
    });
}

fn symm(memory: &mut Memory) {
    let (alpha, beta) = (memory.scalar("alpha"), memory.scalar("beta"));
    with(memory, ["C", "A", "B"], |_, [c, a, b]| {
        let (m, n) = (c.shape[0], c.shape[1]);
        for i in 0..m {
            for j in 0..n {
                // Row by row of the full symmetric matrix.
                let full = |k: usize| if k <= i { a[(i, k)] } else { a[(k, i)] };
                c[(i, j)] = beta * c[(i, j)] + alpha * (0..m).map(|k| full(k) * b[(k, j)]).sum::<f64>();
            }
        }
    });
}

fn syr2k(memory: &mut Memory) {
    let (alpha, beta) = (memory.scalar("alpha"), memory.scalar("beta"));
    with(memory, ["C", "A", "B"], |_, [c, a, b]| {
        for i in 0..a.shape[0] {
            for j in 0..=i {
                let term = |k: usize| a[(j, k)] * b[(i, k)] + b[(j, k)] * a[(i, k)];
                c[(i, j)] = beta * c[(i, j)] + alpha * (0..a.shape[1]).map(term).sum::<f64>();
            }
        }
    });
}

fn syrk(memory: &mut Memory) {
    let (alpha, beta) = (memory.scalar("alpha"), memory.scalar("beta"));
    with(memory, ["C", "A"], |_, [c, a]| {
        for i in 0..a.shape[0] {
            for j in 0..=i {
                let term = |k: usize| a[(i, k)] * a[(j, k)];
                c[(i, j)] = beta * c[(i, j)] + alpha * (0..a.shape[1]).map(term).sum::<f64>();
            }
        }
    });
}

fn trmm(memory: &mut Memory) {
    let alpha = memory.scalar("alpha");
    with(memory, ["A", "B"], |_, [a, b]| {
        let (m, n) = (b.shape[0], b.shape[1]);
        for i in 0..m {
            for j in 0..n {
                for k in i + 1..m {
                    b[(i, j)] += a[(k, i)] * b[(k, j)];
                }
                b[(i, j)] *= alpha;
            }
        }
    });
}

fn atax(memory: &mut Memory) {
    with(memory, ["A", "x", "y"], |_, [a, x, y]| {
        y.elements.fill(0.0);
        for i in 0..a.shape[0] {
            let row: f64 = (0..a.shape[1]).map(|j| a[(i, j)] * x[j]).sum();
            for j in 0..a.shape[1] {
                y[j] += a[(i, j)] * row;
            }
        }
    });
}

fn bicg(memory: &mut Memory) {
    with(memory, ["A", "s", "q", "p", "r"], |_, [a, s, q, p, r]| {
        let (n, m) = (a.shape[0], a.shape[1]);
        for j in 0..m {
            s[j] = (0..n).map(|i| r[i] * a[(i, j)]).sum();
        }
        for i in 0..n {
            q[i] = (0..m).map(|j| a[(i, j)] * p[j]).sum();
        }
    });
}

fn mvt(memory: &mut Memory) {
    let n = memory.size("N");
    with(memory, ["x1", "x2", "y1", "y2", "A"], |_, [x1, x2, y1, y2, a]| {
        for i in 0..n {
            x1[i] += (0..n).map(|j| a[(i, j)] * y1[j]).sum::<f64>();
            x2[i] += (0..n).map(|j| a[(j, i)] * y2[j]).sum::<f64>();
        }
    });
}

fn doitgen(a: &mut Array, c4: &Array) {
    let &[nr, nq, np] = a.shape.as_slice() else { panic!("three dimensions") };
    for r in 0..nr {
        for q in 0..nq {
            let row: Vec<f64> = (0..np).map(|p| (0..np).map(|s| a[(r, q, s)] * c4[(s, p)]).sum()).collect();
            for (p, element) in row.into_iter().enumerate() {
                a[(r, q, p)] = element;
            }
        }
    }
}

fn means(data: &Array) -> Vec<f64> {
    let (n, m) = (data.shape[0], data.shape[1]);
    (0..m).map(|j| (0..n).map(|i| data[(i, j)]).sum::<f64>() / n as f64).collect()
}

fn correlation(data: &mut Array, corr: &mut Array) {
    let (n, m) = (data.shape[0], data.shape[1]);
    let mean = means(data);
    for j in 0..m {
        let variance = (0..n).map(|i| (data[(i, j)] - mean[j]).powi(2)).sum::<f64>() / n as f64;
        let deviation = if variance.sqrt() <= 0.1 { 1.0 } else { variance.sqrt() };
        for i in 0..n {
            data[(i, j)] = (data[(i, j)] - mean[j]) / ((n as f64).sqrt() * deviation);
        }
    }
    for i in 0..m {
        for j in 0..m {
            let sum = (0..n).map(|k| data[(k, i)] * data[(k, j)]).sum();
            corr[(i, j)] = if i == j { 1.0 } else { sum };
        }
    }
}

fn covariance(data: &mut Array, cov: &mut Array) {
    let (n, m) = (data.shape[0], data.shape[1]);
    let mean = means(data);
    for i in 0..n {
        for j in 0..m {
            data[(i, j)] -= mean[j];
        }
    }
    for i in 0..m {
        for j in 0..m {
            cov[(i, j)] = (0..n).map(|k| data[(k, i)] * data[(k, j)]).sum::<f64>() / (n as f64 - 1.0);
        }
    }
}

fn cholesky(a: &mut Array) {
    for i in 0..a.shape[0] {
        for j in 0..i {
            for k in 0..j {
                a[(i, j)] -= a[(i, k)] * a[(j, k)];
            }
            a[(i, j)] /= a[(j, j)];
        }
        for k in 0..i {
            a[(i, i)] -= a[(i, k)] * a[(i, k)];
        }
        a[(i, i)] = a[(i, i)].sqrt();
    }
}

fn lu(a: &mut Array) {
    let n = a.shape[0];
    for i in 0..n {
        for j in 0..n {
            for k in 0..i.min(j) {
                a[(i, j)] -= a[(i, k)] * a[(k, j)];
            }
            if j < i {
                a[(i, j)] /= a[(j, j)];
            }
        }
    }
}

fn ludcmp(a: &mut Array, b: &Array, x: &mut Array, y: &mut Array) {
    lu(a);
    let n = a.shape[0];
    for i in 0..n {
        y[i] = b[i] - (0..i).map(|j| a[(i, j)] * y[j]).sum::<f64>();
    }
    for i in (0..n).rev() {
        x[i] = (y[i] - (i + 1..n).map(|j| a[(i, j)] * x[j]).sum::<f64>()) / a[(i, i)];
    }
}

fn trisolv(l: &Array, x: &mut Array, b: &Array) {
    for i in 0..l.shape[0] {
        x[i] = (b[i] - (0..i).map(|j| l[(i, j)] * x[j]).sum::<f64>()) / l[(i, i)];
    }
}

fn gramschmidt(a: &mut Array, r: &mut Array, q: &mut Array) {
    let (m, n) = (a.shape[0], a.shape[1]);
    for k in 0..n {
        r[(k, k)] = (0..m).map(|i| a[(i, k)].powi(2)).sum::<f64>().sqrt();
        for i in 0..m {
            q[(i, k)] = a[(i, k)] / r[(k, k)];
        }
        for j in k + 1..n {
            r[(k, j)] = (0..m).map(|i| q[(i, k)] * a[(i, j)]).sum();
            for i in 0..m {
                a[(i, j)] -= q[(i, k)] * r[(k, j)];
            }
        }
    }
}

fn durbin(r: &Array, y: &mut Array) {
    let (mut alpha, mut beta) = (-r[0], 1.0);
    y[0] = -r[0];
    for k in 1..r.elements.len() {
        beta *= 1.0 - alpha * alpha;
        let sum: f64 = (0..k).map(|i| r[k - i - 1] * y[i]).sum();
        alpha = -(r[k] + sum) / beta;
        let z: Vec<f64> = (0..k).map(|i| y[i] + alpha * y[k - i - 1]).collect();
        y.elements[..k].copy_from_slice(&z);
        y[k] = alpha;
    }
}

/// One sweep of the alternating direction method; `(i, j)` of a line stands at `at(i, j)`.
fn sweep(to: &mut Array, from: &Array, [a, d, e]: [f64; 3], at: fn(usize, usize) -> (usize, usize)) {
    let n = to.shape[0];
    for i in 1..n - 1 {
        let (mut p, mut q) = (vec![0.0; n], vec![1.0; n]);
        to[at(i, 0)] = 1.0;
        for j in 1..n - 1 {
            let pivot = a * p[j - 1] + e;
            p[j] = -a / pivot;
            let right = -d * from[at(i - 1, j)] + (1.0 + 2.0 * d) * from[at(i, j)] - d * from[at(i + 1, j)];
            q[j] = (right - a * q[j - 1]) / pivot;
        }
        to[at(i, n - 1)] = 1.0;
        for j in (1..n - 1).rev() {
            to[at(i, j)] = p[j] * to[at(i, j + 1)] + q[j];
        }
    }
}

fn adi(memory: &mut Memory) {
    let steps = memory.size("TSTEPS");
    with(memory, ["u"], |_, [u]| {
        let n = u.shape[0];
        let (dx, dt) = (1.0 / n as f64, 1.0 / steps as f64);
        let (mul1, mul2) = (2.0 * dt / (dx * dx), dt / (dx * dx));
        let (a, b, d, e) = (-mul1 / 2.0, 1.0 + mul1, -mul2 / 2.0, 1.0 + mul2);
        let mut v = Array::zeros(&u.shape);
        for _ in 0..steps {
            sweep(&mut v, u, [a, d, b], |i, j| (j, i));
            sweep(u, &v, [d, a, e], |i, j| (i, j));
        }
    });
}

fn fdtd_2d(memory: &mut Memory) {
    let (steps, nx, ny) = (memory.size("TMAX"), memory.size("NX"), memory.size("NY"));
    with(memory, ["ex", "ey", "hz", "fict"], |_, [ex, ey, hz, fict]| {
        for t in 0..steps {
            for j in 0..ny {
                ey[(0, j)] = fict[t];
                for i in 1..nx {
                    ey[(i, j)] -= 0.5 * (hz[(i, j)] - hz[(i - 1, j)]);
                }
            }
            for i in 0..nx {
                for j in 1..ny {
                    ex[(i, j)] -= 0.5 * (hz[(i, j)] - hz[(i, j - 1)]);
                }
            }
            for i in 0..nx - 1 {
                for j in 0..ny - 1 {
                    hz[(i, j)] -= 0.7 * (ex[(i, j + 1)] - ex[(i, j)] + ey[(i + 1, j)] - ey[(i, j)]);
                }
            }
        }
    });
}

/// Steps from `A` to `B` and back.
fn alternate(memory: &mut Memory, step: fn(&Array, &mut Array)) {
    with(memory, ["A", "B"], |sizes, [a, b]| {
        for _ in 0..sizes.size("TSTEPS") {
            step(a, b);
            step(b, a);
        }
    });
}

fn jacobi_1d(from: &Array, to: &mut Array) {
    for i in 1..from.shape[0] - 1 {
        to[i] = 0.33333 * (from[i - 1] + from[i] + from[i + 1]);
    }
}

fn jacobi_2d(from: &Array, to: &mut Array) {
    let n = from.shape[0];
    for i in 1..n - 1 {
        for j in 1..n - 1 {
            let cross = [(i, j), (i, j - 1), (i, j + 1), (i + 1, j), (i - 1, j)];
            to[(i, j)] = 0.2 * cross.into_iter().map(|at| from[at]).sum::<f64>();
        }
    }
}

fn heat(from: &Array, to: &mut Array) {
    let n = from.shape[0];
    for i in 1..n - 1 {
        for j in 1..n - 1 {
            for k in 1..n - 1 {
                let c = from[(i, j, k)];
                let second = |above: f64, below: f64| 0.125 * (above - 2.0 * c + below);
                to[(i, j, k)] = second(from[(i + 1, j, k)], from[(i - 1, j, k)])
                    + second(from[(i, j + 1, k)], from[(i, j - 1, k)])
                    + second(from[(i, j, k + 1)], from[(i, j, k - 1)])
                    + c;
            }
        }
    }
}

fn seidel_2d(a: &mut Array, steps: usize) {
    let n = a.shape[0];
    for _ in 0..steps {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let around = (i - 1..=i + 1).flat_map(|row| (j - 1..=j + 1).map(move |column| (row, column)));
                a[(i, j)] = around.map(|at| a[at]).sum::<f64>() / 9.0;
            }
        }
    }
}

/// A recursive filter along a line of inputs: forward with the input of each step, backward with the two inputs before.
fn filtered(line: &[f64], [now, before]: [f64; 2], [b1, b2]: [f64; 2], is_forward: bool) -> Vec<f64> {
    let (mut found, shift) = (Vec::new(), usize::from(!is_forward));
    for at in 0..line.len() {
        let input = |back: usize| at.checked_sub(back + shift).map_or(0.0, |at| line[at]);
        let output = |back: usize| at.checked_sub(back).map_or(0.0, |at: usize| found[at]);
        found.push(now * input(0) + before * input(1) + b1 * output(1) + b2 * output(2));
    }
    found
}

fn deriche(memory: &mut Memory) {
    let alpha = memory.scalar("alpha");
    with(memory, ["imgIn", "imgOut"], |_, [image, out]| {
        let k = (1.0 - (-alpha).exp()).powi(2) / (1.0 + 2.0 * alpha * (-alpha).exp() - (2.0 * alpha).exp());
        let forward = [k, k * (-alpha).exp() * (alpha - 1.0)];
        let backward = [k * (-alpha).exp() * (alpha + 1.0), -k * (-2.0 * alpha).exp()];
        let b = [2f64.powf(-alpha), -(-2.0 * alpha).exp()];
        let both = |line: &[f64]| -> Vec<f64> {
            let reversed: Vec<f64> = line.iter().rev().copied().collect();
            let back = filtered(&reversed, backward, b, false);
            let front = filtered(line, forward, b, true);
            front.iter().zip(back.iter().rev()).map(|(front, back)| front + back).collect()
        };
        let (w, h) = (image.shape[0], image.shape[1]);
        for i in 0..w {
            let row: Vec<f64> = (0..h).map(|j| image[(i, j)]).collect();
            both(&row).into_iter().enumerate().for_each(|(j, element)| out[(i, j)] = element);
        }
        for j in 0..h {
            let column: Vec<f64> = (0..w).map(|i| out[(i, j)]).collect();
            both(&column).into_iter().enumerate().for_each(|(i, element)| out[(i, j)] = element);
        }
    });
}

fn floyd_warshall(path: &mut Array) {
    let n = path.shape[0];
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                path[(i, j)] = path[(i, j)].min(path[(i, k)] + path[(k, j)]);
            }
        }
    }
}

fn nussinov(seq: &Array, table: &mut Array) {
    let n = seq.shape[0];
    for i in (0..n).rev() {
        for j in i + 1..n {
            let pair = if i + 1 < j && seq[i] + seq[j] == 3.0 { 1.0 } else { 0.0 };
            let mut best = table[(i, j)].max(table[(i, j - 1)]).max(table[(i + 1, j)]);
            best = best.max(table[(i + 1, j - 1)] + pair);
            for k in i + 1..j {
                best = best.max(table[(i, k)] + table[(k + 1, j)]);
            }
            table[(i, j)] = best;
        }
    }
}
