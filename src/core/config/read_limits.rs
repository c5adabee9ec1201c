//! From JSON to `mode`, `rate` and `ramp`.

use super::cursor::{At, Fields};
use super::limits::{Growth, Mode, Percent, Ramp, Ramping, Rate, Step};
use super::{ConfigError, Rule};

pub(super) fn mode(at: &At<'_>) -> Result<Mode, ConfigError> {
    match at.text(Rule::Text) {
        Ok("enforce") => Ok(Mode::Enforce),
        Ok("shadow") => Ok(Mode::Shadow),
        _ => Err(at.unknown("mode", &["enforce", "shadow"])),
    }
}

pub(super) fn rate(at: &At<'_>) -> Result<Rate, ConfigError> {
    let fields = at.object(&[PER_MINUTE, PER_SECOND, "burst"])?;
    let (name, value) = fields.one_of(PER_MINUTE, PER_SECOND, at)?;
    let seconds = if name == PER_MINUTE { 60 } else { 1 };
    let max = Rate::MAX_PER_SECOND * seconds;
    // Less than one permit in a billion seconds is taken for that.
    let per_second_nano = (value.nano(max)? / u64::from(seconds)).max(1);
    let burst = fields.whole("burst", 1, Rate::MAX_BURST, 1)?;
    Rate::new(per_second_nano, burst).ok_or_else(|| value.breaks(Rule::Above0 { max }))
}

const PER_MINUTE: &str = "requests_per_minute";
const PER_SECOND: &str = "requests_per_second";

/// What bounds the growth of the rate.
pub(super) fn ramp(at: &At<'_>) -> Result<Ramping, ConfigError> {
    let fields = at.object(&["mode", INITIAL, EVERY, PERCENT, STEP])?;
    let Some(mode) = fields.optional("mode") else {
        return static_ramp(&fields, at).map(Ramping::Stated);
    };
    let ramping = match mode.text(Rule::Text) {
        Ok("off") => Ramping::Off,
        Ok("learn") => Ramping::Learned,
        _ => return Err(mode.unknown("mode", &["learn", "off"])),
    };
    let given = |name: &&str| fields.optional(name);
    match [INITIAL, EVERY, PERCENT, STEP].iter().find_map(given) {
        None => Ok(ramping),
        Some(extra) => Err(extra.breaks(Rule::LeftOutBeside("mode"))),
    }
}

const INITIAL: &str = "initial_per_second";
const EVERY: &str = "every_ms";
const PERCENT: &str = "growth_percent";
const STEP: &str = "step_per_second";

fn static_ramp(fields: &Fields<'_>, at: &At<'_>) -> Result<Ramp, ConfigError> {
    let max = Rate::MAX_PER_SECOND;
    let initial = fields.required(INITIAL, Rule::Above0 { max })?;
    let initial_nano = initial.nano(max)?;
    let (min, max) = Ramp::EVERY_MS;
    let every = fields.required(EVERY, Rule::Whole { min, max })?;
    let every_ms = every.whole(min, max)?;
    let growth = growth(fields, at)?;
    Ramp::new(initial_nano, every_ms, growth).ok_or_else(|| every.breaks(Rule::Whole { min, max }))
}

fn growth(fields: &Fields<'_>, at: &At<'_>) -> Result<Growth, ConfigError> {
    let (name, value) = fields.one_of(PERCENT, STEP, at)?;
    if name == PERCENT {
        let (min, max) = (1, Percent::MAX);
        let percent = Percent::new(value.whole(min, max)?).map(Growth::Percent);
        return percent.ok_or_else(|| value.breaks(Rule::Whole { min, max }));
    }
    let max = Rate::MAX_PER_SECOND;
    let step = Step::new(value.nano(max)?).map(Growth::Step);
    step.ok_or_else(|| value.breaks(Rule::Above0 { max }))
}
