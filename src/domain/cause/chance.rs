//! How likely chance alone is to do the same.

/// The probability of at least `hits` of `tries`, each with probability `p`.
pub(super) fn binomial_at_least(hits: u64, tries: u64, p: f64) -> f64 {
    // A hundredth of a million says the same, and is soon counted.
    const MOST: u64 = 10_000;
    if tries > MOST {
        let hits = (u128::from(hits) * u128::from(MOST) / u128::from(tries)) as u64;
        return binomial_at_least(hits, MOST, p);
    }
    if hits == 0 {
        return 1.0;
    }
    if hits > tries || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    // Logarithms: the terms of large groups are too small to be multiplied up.
    let (log_p, log_q) = (p.ln(), (1.0 - p).ln());
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for k in 0..=tries {
        if k > 0 {
            log_choose += ((tries - k + 1) as f64).ln() - (k as f64).ln();
        }
        if k >= hits {
            sum += (log_choose + k as f64 * log_p + (tries - k) as f64 * log_q).exp();
        }
    }
    sum.min(1.0)
}

/// The probability of at least `hits` where `expected` are.
pub(super) fn poisson_at_least(hits: usize, expected: f64) -> f64 {
    let mut term = (-expected).exp();
    let mut below = 0.0;
    for k in 0..hits {
        below += term;
        term *= expected / (k + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn tails_are_those_of_the_textbook() {
        assert!(is_near(binomial_at_least(2, 2, 0.5), 0.25));
        assert!(is_near(binomial_at_least(1, 3, 0.5), 0.875));
        assert!(is_near(binomial_at_least(0, 3, 0.1), 1.0));
        assert!(is_near(binomial_at_least(4, 3, 0.9), 0.0));
        assert!(is_near(poisson_at_least(1, 1.0), 1.0 - (-1.0_f64).exp()));
        assert!(is_near(poisson_at_least(0, 3.0), 1.0));
        assert!(binomial_at_least(9_000, 10_000, 0.01) < 1e-300);
    }
}
