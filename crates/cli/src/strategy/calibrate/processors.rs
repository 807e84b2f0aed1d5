//! The processors that each rank of MPI has, and its threads: `proc_pid_status(5)`, the line `Cpus_allowed_list`.
//!
//! Launchers bind ranks to processors or not, to one, a socket or a machine. Ranks that share processors divide them.

use std::fs;

/// Words of the mask of processors: no machine has more than 8,192.
const MASK: usize = 128;

/// Words of the description of a place: the machine, the processors that may be used at once, and the mask.
pub(super) const WORDS: usize = 3 + MASK;

/// Where a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Identity of the machine; containers of one machine share it.
    machine: [i64; 2],
    /// Processors that the rank uses at once. A limit of time may leave fewer than there are in the mask.
    available: i64,
    /// A bit for each processor of the machine on which the rank may run.
    mask: Vec<i64>,
}

impl Place {
    /// That of this process. Without Linux, the mask is empty.
    pub(super) fn of_this_process() -> Self {
        let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let machine = machine(&read("/proc/sys/kernel/random/boot_id"));
        let status = read("/proc/self/status");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        Place {
            machine,
            available: i64::try_from(available).unwrap_or(i64::MAX),
            mask: list.and_then(|list| mask(list.trim())).unwrap_or_else(|| vec![0; MASK]),
        }
    }

    /// As words, in which ranks tell each other their places.
    pub(super) fn words(&self) -> Vec<i64> {
        [&self.machine[..], &[self.available], &self.mask].concat()
    }

    /// The place of words.
    pub(super) fn of_words(words: &[i64]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        Place {
            machine: [word(0), word(1)],
            available: word(2),
            mask: words.get(3..).unwrap_or_default().to_vec(),
        }
    }

    fn has(&self, processor: usize) -> bool {
        self.mask.get(processor / 64).is_some_and(|word| word >> (processor % 64) & 1 != 0)
    }

    fn processors(&self) -> impl Iterator<Item = usize> {
        (0..64 * self.mask.len()).filter(|processor| self.has(*processor))
    }
}

/// The threads that each of these ranks has processors for: the least number of all, at least 1.
///
/// A processor counts for the ranks that may run on it in equal shares.
pub(super) fn threads_of_each(places: &[Place]) -> u32 {
    let of_rank = |place: &Place| {
        let here: Vec<&Place> = places.iter().filter(|other| other.machine == place.machine).collect();
        let own: Vec<usize> = place.processors().collect();
        let sharing = |processor: usize| here.iter().filter(|other| other.has(processor)).count() as f64;
        // Without a mask, all ranks of a machine share what there is.
        let part = match own.len() {
            0 => 1.0 / here.len() as f64,
            n => own.into_iter().map(|processor| 1.0 / sharing(processor)).sum::<f64>() / n as f64,
        };
        // Sums of shares such as a third are less than their number by rounding.
        (place.available as f64 * part + 1e-6) as u32
    };
    places.iter().map(of_rank).min().unwrap_or(1).max(1)
}

/// The words of an identity such as `5b2e1c0a-...`.
fn machine(identity: &str) -> [i64; 2] {
    let digits: String = identity.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |from: usize| {
        let word = digits.get(from..from + 16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        word.unwrap_or_default().cast_signed()
    };
    [half(0), half(16)]
}

/// The mask of a list such as `0-1,4`; `None` if it is none.
fn mask(list: &str) -> Option<Vec<i64>> {
    let mut mask = vec![0_i64; MASK];
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for processor in first.parse::<usize>().ok()?..=last.parse().ok()? {
            *mask.get_mut(processor / 64)? |= 1 << (processor % 64);
        }
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(machine: i64, available: i64, list: &str) -> Place {
        Place { machine: [machine, 0], available, mask: mask(list).unwrap_or_else(|| vec![0; MASK]) }
    }

    #[test]
    fn bound_ranks_have_the_processors_that_they_are_bound_to() {
        let bound = [place(1, 8, "0-7"), place(1, 8, "8-15"), place(1, 8, "16-23"), place(1, 8, "64-71")];
        assert_eq!(threads_of_each(&bound), 8);
        // Two sockets, with four ranks each.
        let sockets: Vec<Place> =
            (0..8).map(|rank| place(1, 32, if rank < 4 { "0-31" } else { "32-63" })).collect();
        assert_eq!(threads_of_each(&sockets), 8);
        // The least number counts for all: one rank has a processor less.
        assert_eq!(threads_of_each(&[place(1, 4, "0-3"), place(1, 3, "4-6")]), 3);
    }

    #[test]
    fn ranks_share_the_processors_of_their_machine() {
        let shared = |ranks: usize| vec![place(1, 64, "0-63"); ranks];
        assert_eq!([1, 3, 8, 100].map(|ranks| threads_of_each(&shared(ranks))), [64, 21, 8, 1]);
        // Those of another machine have others, under the same numbers.
        let machines: Vec<Place> = (0..8).map(|rank| place(rank / 4, 64, "0-63")).collect();
        assert_eq!(threads_of_each(&machines), 16);
        // All ranks together may use two of the processors, by a mask or by a limit of time.
        assert_eq!(threads_of_each(&vec![place(1, 2, "3,5"); 2]), 1);
        assert_eq!(threads_of_each(&vec![place(1, 4, "0-63"); 2]), 2);
        // A system that tells no mask.
        assert_eq!(threads_of_each(&vec![place(1, 6, "none"); 3]), 2);
        assert_eq!(threads_of_each(&[]), 1);
    }

    #[test]
    fn places_are_told_in_words() {
        let here = Place::of_this_process();
        assert_eq!(here.words().len(), WORDS);
        assert_eq!(Place::of_words(&here.words()), here);
        assert!(threads_of_each(&[here]) > 0);
        assert_eq!(machine("00000000-0000-0001-8000-0000000000ff\n"), [1, i64::MIN + 255]);
        assert_eq!(machine(""), [0, 0]);
        assert_eq!(place(0, 1, "0-1,4,130").processors().collect::<Vec<_>>(), [0, 1, 4, 130]);
        assert_eq!(mask("0-99999"), None);
    }
}
