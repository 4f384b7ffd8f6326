//! Axes: round numbers, and numbers for people.

/// Round numbers from `from` to `to`, about `count` of them and at least `least` apart.
pub(super) fn ticks(from: f64, to: f64, count: usize, least: f64) -> Vec<f64> {
    let span = (to - from).max(f64::MIN_POSITIVE);
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough).max(least);
    let first = (from / step).ceil();
    (0..=2 * count).map(|n| (first + n as f64) * step).take_while(|tick| *tick <= to + step * 1e-6).collect()
}

/// A number with at most three digits after the first, and a letter for its thousands: `1.5k`, `20M`.
///
/// ```
/// use trackway_tools::plot::number;
/// assert_eq!([0.0, 0.25, 12.0, 1500.0, 2e7].map(number), ["0", "0.25", "12", "1.5k", "20M"]);
/// ```
pub fn number(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{letter}", if text.is_empty() || text == "-0" { "0" } else { text })
}
