//! The cache of a thread, as Linux tells it: `Documentation/ABI/testing/sysfs-devices-system-cpu`.

use std::fs;
use std::path::Path;

/// The folder that lists the caches of the first processor.
pub(super) const OF_FIRST_PROCESSOR: &str = "/sys/devices/system/cpu/cpu0/cache";

/// The bytes of a second-level cache, divided by the processors that share it; `None` where the system does not tell.
pub(super) fn bytes_of_thread(folder: &Path) -> Option<f64> {
    let mut caches: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    caches.sort();
    caches.iter().find_map(|cache| {
        let of = |name: &str| fs::read_to_string(cache.join(name)).ok();
        let is_second = of("level")?.trim() == "2" && of("type")?.trim() != "Instruction";
        let kib: f64 = of("size")?.trim().strip_suffix('K')?.parse().ok()?;
        is_second.then_some(kib * 1024.0 / processors(of("shared_cpu_list")?.trim())?)
    })
}

/// The number of processors of a list such as `0-1,4`.
fn processors(list: &str) -> Option<f64> {
    let number = |text: &str| text.parse::<u32>().ok();
    let count = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(last)?.checked_sub(number(first)?)?.checked_add(1),
        None => number(part).map(|_| 1),
    };
    let all: Option<u32> = list.split(',').map(count).sum();
    all.filter(|count| *count > 0).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share in the second-level cache alone counts.
    #[test]
    fn shared_caches_are_divided() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |index: usize, values: [&str; 4]| {
            let cache = folder.path().join(format!("index{index}"));
            fs::create_dir_all(&cache).expect("a folder");
            for (name, value) in ["level", "type", "size", "shared_cpu_list"].iter().zip(values) {
                fs::write(cache.join(name), format!("{value}\n")).expect("a file");
            }
        };
        write(0, ["1", "Data", "48K", "0"]);
        write(1, ["2", "Instruction", "64K", "0"]);
        assert_eq!(bytes_of_thread(folder.path()), None);
        write(2, ["2", "Unified", "2048K", "0,4-6"]);
        write(3, ["3", "Unified", "491520K", "0-7"]);
        assert_eq!(bytes_of_thread(folder.path()), Some(512.0 * 1024.0));
        assert_eq!(bytes_of_thread(&folder.path().join("none")), None);
        assert_eq!([processors("0"), processors("3-1"), processors("")], [Some(1.0), None, None]);
    }
}
