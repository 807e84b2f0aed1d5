//! `--target opencl` on the first device of this machine: the cache of kernels. The tests report that they are skipped on a machine
//! without a device.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::programs::DOUBLE;
use crate::{Answer, Bench};

/// The first bytes of a file of the cache.
const MAGIC: &[u8] = b"sdfg kernels 1\n";

/// A file of the cache: what the kernels depend on, and their image.
struct Kept {
    key: Vec<u8>,
    image: Vec<u8>,
}

impl Kept {
    fn read(path: &PathBuf) -> Self {
        let bytes = std::fs::read(path).expect("a file");
        let rest = bytes.strip_prefix(MAGIC).expect("a file of the cache");
        let (head, rest) = rest.split_at(24);
        let length = u64::from_le_bytes(head[..8].try_into().expect("a number")) as usize;
        let (key, image) = rest.split_at(length);
        Kept { key: key.to_vec(), image: image.to_vec() }
    }

    /// The bytes of the file, with the sum of the image.
    fn bytes(&self) -> Vec<u8> {
        let sum = self.image.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let head = [self.key.len() as u64, self.image.len() as u64, sum].map(u64::to_le_bytes).concat();
        [MAGIC, &head, &self.key, &self.image].concat()
    }
}

fn run(bench: &Bench, program: &str, more: &[&str]) -> Answer {
    let run = ["run", program, "--target", "opencl", "--set", "N=3", "-i", "A=range"];
    bench.run(&[&run[..], more].concat())
}

/// The files of kernels in the cache.
fn cached(bench: &Bench) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(bench.cache.path()).expect("a folder");
    let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sdfg-kernels"));
    paths.sort();
    paths
}

#[test]
fn kernels_are_kept_in_the_cache() {
    let bench = Bench::new();
    let devices = bench.run_with(&["devices"], "", &[("SDFG_CUDA_DRIVER", "/nowhere.so")]);
    if devices.status != Some(0) {
        crate::packages::skip("device of OpenCL");
        return;
    }
    for (file, text) in [("two", DOUBLE.to_owned()), ("three", DOUBLE.replace('2', "3"))] {
        bench.file(&format!("{file}.sdft"), text);
        let program = [format!("{file}.sdft"), format!("{file}.gpu.sdft")];
        bench.run(&["transform", &program[0], "GPUTransform", "--everywhere", "-o", &program[1]]).prints(&[]);
    }
    run(&bench, "two.gpu.sdft", &["--no-cache"]).prints(&["0.0, 2.0, 4.0"]);
    assert!(cached(&bench).is_empty());
    run(&bench, "two.gpu.sdft", &[]).prints(&["0.0, 2.0, 4.0"]);
    let of_two = cached(&bench).remove(0);
    bench.run(&["cache"]).prints(&["1 object, "]);
    run(&bench, "three.gpu.sdft", &[]).prints(&["0.0, 3.0, 6.0"]);
    let files = cached(&bench);
    assert_eq!(files.len(), 2, "{files:?}");
    let of_three = files.iter().find(|path| **path != of_two).expect("another file");
    // The second run does not compile: it takes whatever image there is.
    let (two, three) = (Kept::read(&of_two), Kept::read(of_three));
    let exchanged = Kept { key: two.key.clone(), image: three.image.clone() };
    std::fs::write(&of_two, exchanged.bytes()).expect("a file can be written");
    run(&bench, "two.gpu.sdft", &[]).prints(&["0.0, 3.0, 6.0"]);
    run(&bench, "two.gpu.sdft", &["--no-cache"]).prints(&["0.0, 2.0, 4.0"]);
    // Files that are damaged or of other kernels are made again, and so are images that the driver does not take.
    let whole = exchanged.bytes();
    let mut damaged = whole.clone();
    damaged[whole.len() - 1] ^= 1;
    let refused = Kept { key: two.key.clone(), image: b"no image".to_vec() }.bytes();
    for contents in [&damaged[..], &whole[..whole.len() / 2], b"", &three.bytes(), &refused] {
        std::fs::write(&of_two, contents).expect("a file can be written");
        run(&bench, "two.gpu.sdft", &[]).prints(&["0.0, 2.0, 4.0"]);
        assert_eq!(Kept::read(&of_two).key, two.key);
    }
    // The files that were not used for the longest time make room.
    let old = bench.cache.path().join("old.sdfg-kernels");
    let file = std::fs::File::create(&old).expect("a file");
    file.set_len((1 << 30) + 1).expect("a size");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
    run(&bench, "two.gpu.sdft", &[]).prints(&["0.0, 2.0, 4.0"]);
    assert!(old.exists());
    run(&bench, "two.gpu.sdft", &["--checked"]).prints(&["0.0, 2.0, 4.0"]);
    assert!(!old.exists());
    assert_eq!(cached(&bench).len(), 3);
    bench.run(&["cache", "--clear"]).prints(&["3 objects, "]);
}
