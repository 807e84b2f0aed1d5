//! Configurations of an operation: the number of parts of each dimension of its iteration domain.

use super::error::ProblemError;

/// Permitted configurations of an operation on `n_processors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigurationRule {
    /// Number of processors; a configuration has at most as many parts.
    pub n_processors: u32,
    /// The numbers of parts of a dimension.
    pub parts: PartCounts,
    /// The fewest iterations that each part of a dimension that is cut has; 0 for any number, none included.
    pub minimum_block: u64,
}

/// Numbers of parts that a dimension is cut into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartCounts {
    /// All of them.
    #[default]
    All,
    /// Those that divide the size of the dimension.
    DivideDimension,
    /// Those that divide the number of processors: few enough for thousands of these.
    DivideProcessors,
}

impl ConfigurationRule {
    /// Every configuration on `n_processors`, as the strategy-search documents have it (algorithm 1, line 8).
    pub fn all(n_processors: u32) -> Self {
        ConfigurationRule { n_processors, parts: PartCounts::All, minimum_block: 0 }
    }

    /// The configurations `(c1, .., cd)` of a domain with product at most the number of processors, in lexicographic
    /// order. The first one, all ones, is serial.
    ///
    /// # Errors
    /// If there is no processor.
    pub fn configurations(&self, domain: &[u64]) -> Result<Vec<Vec<u32>>, ProblemError> {
        self.at_most(usize::MAX, domain)?.ok_or(ProblemError::NoProcessors)
    }

    /// The same, or nothing if there are more than `limit`; never makes many more.
    ///
    /// # Errors
    /// If there is no processor.
    pub fn at_most(&self, limit: usize, domain: &[u64]) -> Result<Option<Vec<Vec<u32>>>, ProblemError> {
        if self.n_processors == 0 {
            return Err(ProblemError::NoProcessors);
        }
        // Each prefix of a configuration, with how many processors are left for each of its parts.
        let mut prefixes = vec![(Vec::with_capacity(domain.len()), self.n_processors)];
        for &size in domain {
            prefixes = prefixes
                .iter()
                .flat_map(|(prefix, left)| {
                    (1..=*left).filter(|parts| self.allows(size, *parts)).map(move |parts| {
                        let mut longer: Vec<u32> = prefix.clone();
                        longer.push(parts);
                        (longer, left / parts)
                    })
                })
                .take(limit.saturating_add(1))
                .collect();
            if prefixes.len() > limit {
                return Ok(None);
            }
        }
        Ok(Some(prefixes.into_iter().map(|(configuration, _)| configuration).collect()))
    }

    fn allows(&self, size: u64, parts: u32) -> bool {
        let is_permitted = match self.parts {
            PartCounts::All => true,
            PartCounts::DivideDimension => size.is_multiple_of(u64::from(parts)),
            PartCounts::DivideProcessors => self.n_processors.is_multiple_of(parts),
        };
        parts == 1 || (is_permitted && size / u64::from(parts) >= self.minimum_block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by trying every tuple.
    fn brute_force(domain: &[u64], rule: ConfigurationRule) -> Vec<Vec<u32>> {
        let p = rule.n_processors;
        let mut all = vec![vec![]];
        for _ in domain {
            all = all
                .iter()
                .flat_map(|c| (1..=p).map(move |parts| [c.as_slice(), &[parts]].concat()))
                .collect();
        }
        all.retain(|c: &Vec<u32>| {
            let is_permitted = |size: u64, parts: u32| match rule.parts {
                PartCounts::All => true,
                PartCounts::DivideDimension => size.is_multiple_of(u64::from(parts)),
                PartCounts::DivideProcessors => p.is_multiple_of(parts),
            };
            let fits = |(size, parts): (&u64, &u32)| {
                *parts == 1 || (is_permitted(*size, *parts) && size / u64::from(*parts) >= rule.minimum_block)
            };
            c.iter().map(|parts| u64::from(*parts)).product::<u64>() <= u64::from(p)
                && domain.iter().zip(c).all(fits)
        });
        all
    }

    #[test]
    fn configurations_are_those_that_brute_force_finds_in_the_same_order() {
        for p in 1..=12 {
            for parts in [PartCounts::All, PartCounts::DivideDimension, PartCounts::DivideProcessors] {
                for minimum_block in [0, 2, 5] {
                    let rule = ConfigurationRule { n_processors: p, parts, minimum_block };
                    for domain in [&[][..], &[7], &[12, 5], &[6, 1, 30]] {
                        assert_eq!(
                            rule.configurations(domain).unwrap(),
                            brute_force(domain, rule),
                            "{domain:?}, {rule:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_hard_case_is_as_large_as_it_is_said_to_be() {
        let n = ConfigurationRule::all(64).configurations(&[64; 7]).unwrap().len();
        assert_eq!(n, 11_313);
    }

    #[test]
    fn more_than_a_limit_are_not_made() {
        let rule = ConfigurationRule::all(64);
        assert_eq!(rule.at_most(11_312, &[64; 7]).unwrap(), None);
        assert_eq!(rule.at_most(11_313, &[64; 7]).unwrap(), Some(rule.configurations(&[64; 7]).unwrap()));
        // Without the limit this would take the memory of a large machine.
        assert_eq!(ConfigurationRule::all(1 << 16).at_most(1000, &[1 << 20; 12]).unwrap(), None);
    }

    #[test]
    fn without_processors_there_is_no_configuration() {
        assert!(matches!(ConfigurationRule::all(0).configurations(&[4]), Err(ProblemError::NoProcessors)));
    }
}
