//! Reference results of the models, in plain loops over whole arrays.

use std::collections::BTreeMap;

/// Numbers in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<f64>,
}

type Arrays = BTreeMap<String, Array>;

impl Array {
    /// An array whose elements follow from their indices.
    fn of(shape: &[usize], element: impl Fn(&[usize]) -> f64) -> Self {
        let mut index = vec![0; shape.len()];
        let mut elements = Vec::new();
        for _ in 0..shape.iter().product() {
            elements.push(element(&index));
            for (at, size) in index.iter_mut().zip(shape).rev() {
                *at = (*at + 1) % size;
                if *at != 0 {
                    break;
                }
            }
        }
        Array { shape: shape.to_vec(), elements }
    }

    fn at(&self, index: &[usize]) -> f64 {
        self.elements[index.iter().zip(&self.shape).fold(0, |place, (at, size)| place * size + at)]
    }

    /// The softmax over the last dimension.
    fn softmax(&self) -> Self {
        let n = *self.shape.last().expect("a dimension");
        let rows = self.elements.chunks(n).flat_map(|row| {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
            let total: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / total)
        });
        Array { shape: self.shape.clone(), elements: rows.collect() }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The probabilities of classes.
pub(crate) fn alexnet(arrays: &Arrays) -> Vec<f64> {
    let mut image = arrays["I"].clone();
    for (n, stride, padding, pooled) in
        [(1, 4, 0, true), (2, 1, 2, true), (3, 1, 1, false), (4, 1, 1, false), (5, 1, 1, true)]
    {
        image = convolution(&image, &arrays[&format!("W{n}")], &arrays[&format!("b{n}")], stride, padding);
        let (batch, channels, side) = (image.shape[0], image.shape[1], image.shape[2]);
        let pooled_side = if pooled { (side - 3) / 2 + 1 } else { side };
        image = Array::of(&[batch, channels, pooled_side, pooled_side], |i| {
            let window = |y: usize| if pooled { 2 * y..2 * y + 3 } else { y..y + 1 };
            let values = window(i[2]).flat_map(|y| window(i[3]).map(move |x| (y, x)));
            values.map(|(y, x)| image.at(&[i[0], i[1], y, x])).fold(0.0, f64::max)
        });
    }
    let batch = image.shape[0];
    let n_features = image.elements.len() / batch;
    let mut features = Array { shape: vec![batch, n_features], elements: image.elements };
    for n in [6, 7, 8] {
        let (weights, bias) = (&arrays[&format!("W{n}")], &arrays[&format!("b{n}")]);
        let (size, width) = (weights.shape[0], features.shape[1]);
        features = Array::of(&[batch, size], |i| {
            let sum: f64 = (0..width)
                .map(|g| features.at(&[i[0], g]).max(0.0) * weights.elements[i[1] * width + g])
                .sum();
            bias.at(&[i[1]]) + sum
        });
    }
    features.softmax().elements
}

fn convolution(image: &Array, weights: &Array, bias: &Array, stride: usize, padding: usize) -> Array {
    let (height, kernel) = (image.shape[2], weights.shape[2]);
    let side = (height + 2 * padding - kernel) / stride + 1;
    Array::of(&[image.shape[0], weights.shape[0], side, side], |i| {
        let mut sum = bias.at(&[i[1]]);
        for c in 0..image.shape[1] {
            for p in 0..kernel {
                for q in 0..kernel {
                    let (y, x) = (stride * i[2] + p, stride * i[3] + q);
                    let inside = |at: usize| (padding..height + padding).contains(&at);
                    if inside(y) && inside(x) {
                        sum += image.at(&[i[0], c, y - padding, x - padding]) * weights.at(&[i[1], c, p, q]);
                    }
                }
            }
        }
        sum
    })
}

/// The probabilities of words, and the states afterwards, by name.
pub(crate) fn lstm(arrays: &Arrays) -> BTreeMap<&'static str, Vec<f64>> {
    let words = &arrays["X"];
    let [n_words, batch, size] = words.shape[..] else { panic!("three dimensions") };
    let mut states = [1, 2].map(|n| (arrays[&format!("h{n}")].clone(), arrays[&format!("c{n}")].clone()));
    let (vocabulary, bias) = (&arrays["Wv"], &arrays["bv"]);
    let n_hidden = vocabulary.shape[1];
    let mut logits = Vec::new();
    for t in 0..n_words {
        let mut input = Array::of(&[batch, size], |i| words.at(&[t, i[0], i[1]]));
        for (n, (hidden, cell)) in states.iter_mut().enumerate() {
            let of = |name: &str| &arrays[&format!("{name}{}", n + 1)];
            let gate = |g: usize, b: usize, k: usize| -> f64 {
                let from_input: f64 =
                    (0..input.shape[1]).map(|d| input.at(&[b, d]) * of("W").at(&[g, k, d])).sum();
                let from_state: f64 =
                    (0..n_hidden).map(|d| hidden.at(&[b, d]) * of("U").at(&[g, k, d])).sum();
                of("b").at(&[g, k]) + from_input + from_state
            };
            let shape = [batch, n_hidden];
            let new_cell = Array::of(&shape, |i| {
                sigmoid(gate(1, i[0], i[1])) * cell.at(i)
                    + sigmoid(gate(0, i[0], i[1])) * gate(2, i[0], i[1]).tanh()
            });
            let new_hidden = Array::of(&shape, |i| sigmoid(gate(3, i[0], i[1])) * new_cell.at(i).tanh());
            (*hidden, *cell) = (new_hidden, new_cell);
            input = hidden.clone();
        }
        let step = Array::of(&[batch, vocabulary.shape[0]], |i| {
            let sum: f64 = (0..n_hidden).map(|k| input.at(&[i[0], k]) * vocabulary.at(&[i[1], k])).sum();
            bias.at(&[i[1]]) + sum
        });
        logits.extend(step.softmax().elements);
    }
    let [(h1, c1), (h2, c2)] = states;
    BTreeMap::from([
        ("O", logits),
        ("h1", h1.elements),
        ("c1", c1.elements),
        ("h2", h2.elements),
        ("c2", c2.elements),
    ])
}

/// The probabilities of words.
pub(crate) fn transformer(arrays: &Arrays) -> Vec<f64> {
    let (source, target) = (&arrays["X"], &arrays["Z"]);
    let encoded = feed_forward(arrays, "encode", &attention(arrays, "encode", source, source, false));
    let attended = attention(arrays, "decode", target, target, true);
    let decoded = feed_forward(arrays, "cross", &attention(arrays, "cross", &attended, &encoded, false));
    let (weights, bias) = (&arrays["Wv"], &arrays["bv"]);
    let [batch, n, width] = decoded.shape[..] else { panic!("three dimensions") };
    Array::of(&[batch, n, weights.shape[0]], |i| {
        let sum: f64 = (0..width).map(|d| decoded.at(&[i[0], i[1], d]) * weights.at(&[i[2], d])).sum();
        bias.at(&[i[2]]) + sum
    })
    .softmax()
    .elements
}

fn attention(arrays: &Arrays, name: &str, to: &Array, from: &Array, masked: bool) -> Array {
    let projected = |role: &str, words: &Array| {
        let (weights, bias) = (&arrays[&format!("W_{name}_{role}")], &arrays[&format!("b_{name}_{role}")]);
        let shape = [words.shape[0], weights.shape[0], words.shape[1], weights.shape[1]];
        Array::of(&shape, |i| {
            let sum: f64 =
                (0..words.shape[2]).map(|d| words.at(&[i[0], i[2], d]) * weights.at(&[i[1], i[3], d])).sum();
            bias.at(&[i[1], i[3]]) + sum
        })
    };
    let (query, key, value) = (projected("query", to), projected("key", from), projected("value", from));
    let [batch, heads, n, size] = query.shape[..] else { panic!("four dimensions") };
    let scale = arrays["scale"].at(&[0]);
    let weights = Array::of(&[batch, heads, n, from.shape[1]], |i| {
        let mask = if masked && i[3] > i[2] { -1e9 } else { 0.0 };
        let dot: f64 =
            (0..size).map(|k| query.at(&[i[0], i[1], i[2], k]) * key.at(&[i[0], i[1], i[3], k])).sum();
        mask + dot * scale
    })
    .softmax();
    let context = Array::of(&[batch, heads, n, size], |i| {
        (0..from.shape[1])
            .map(|m| weights.at(&[i[0], i[1], i[2], m]) * value.at(&[i[0], i[1], m, i[3]]))
            .sum()
    });
    let (mix, bias) = (&arrays[&format!("W_{name}_mixed")], &arrays[&format!("b_{name}_mixed")]);
    let mixed = Array::of(&[batch, n, heads * size], |i| {
        let pairs = (0..heads).flat_map(|h| (0..size).map(move |k| (h, k)));
        let sum: f64 = pairs.map(|(h, k)| context.at(&[i[0], h, i[1], k]) * mix.at(&[h, k, i[2]])).sum();
        bias.at(&[i[2]]) + sum
    });
    normalised(arrays, &format!("{name}_attended"), to, &mixed)
}

fn feed_forward(arrays: &Arrays, name: &str, words: &Array) -> Array {
    let dense = |role: &str, words: &Array| {
        let (weights, bias) = (&arrays[&format!("W_{name}_{role}")], &arrays[&format!("b_{name}_{role}")]);
        Array::of(&[words.shape[0], words.shape[1], weights.shape[0]], |i| {
            let sum: f64 =
                (0..words.shape[2]).map(|d| words.at(&[i[0], i[1], d]) * weights.at(&[i[2], d])).sum();
            bias.at(&[i[2]]) + sum
        })
    };
    let mut wide = dense("wide", words);
    wide.elements.iter_mut().for_each(|x| *x = x.max(0.0));
    normalised(arrays, &format!("{name}_done"), words, &dense("narrow", &wide))
}

fn normalised(arrays: &Arrays, name: &str, first: &Array, second: &Array) -> Array {
    let added = Array::of(&first.shape, |i| first.at(i) + second.at(i));
    let width = first.shape[2];
    let mean = |i: &[usize]| (0..width).map(|d| added.at(&[i[0], i[1], d])).sum::<f64>() / width as f64;
    let variance = |i: &[usize]| {
        let middle = mean(i);
        (0..width).map(|d| (added.at(&[i[0], i[1], d]) - middle).powi(2)).sum::<f64>() / width as f64
    };
    let (gain, bias) = (&arrays[&format!("gain_{name}")], &arrays[&format!("bias_{name}")]);
    Array::of(&first.shape, |i| {
        (added.at(i) - mean(i)) / (variance(i) + 1e-5).sqrt() * gain.at(&[i[2]]) + bias.at(&[i[2]])
    })
}
