//! Everything that can be done, in one table: it drives the keys, the help, the footer, the palette
//! and the config.

/// A command of a key or of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    Reclaim,
    Release,
    Extend,
    Undo,
    CheckPid,
    CheckAllPids,
    Mark,
    ReclaimAll,
    ReleaseAll,
    Detail,
    Snooze,
    Filter,
    NextMatch,
    PreviousMatch,
    Sort,
    Reverse,
    Columns,
    View,
    Source,
    Sources,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
    NextPane,
    PreviousPane,
    Overview,
    Claims,
    Groups,
    GroupBy,
    Sessions,
    Jobs,
    Locks,
    Events,
    Audit,
    Zoom,
    Header,
    Pause,
    Faster,
    Slower,
    Play,
    StepForward,
    StepBack,
    NextEvent,
    PreviousEvent,
    At,
    Backtest,
    Record,
    Palette,
    Copy,
    Save,
    Help,
    Back,
    Suspend,
    Quit,
}

/// Its section in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionGroup {
    Act,
    Look,
    Move,
    Screen,
    Replay,
}

impl ActionGroup {
    pub const ALL: [ActionGroup; 5] =
        [ActionGroup::Act, ActionGroup::Look, ActionGroup::Move, ActionGroup::Screen, ActionGroup::Replay];

    pub fn title(self) -> &'static str {
        match self {
            ActionGroup::Act => "Put it right",
            ActionGroup::Look => "Look closer",
            ActionGroup::Move => "Move",
            ActionGroup::Screen => "The screen",
            ActionGroup::Replay => "Record and replay",
        }
    }
}

/// One line of the table.
#[derive(Debug)]
pub struct ActionSpec {
    pub command: Command,
    /// Its name in the palette and in the config.
    pub name: &'static str,
    /// The keys it has unless the config says otherwise.
    pub keys: &'static [&'static str],
    pub group: ActionGroup,
    /// For the help.
    pub what: &'static str,
    /// For the footer, where there is little room; nothing, if it does not belong there.
    pub short: Option<&'static str>,
    /// Whether it changes the database.
    pub writes: bool,
}

const fn look(
    command: Command,
    name: &'static str,
    keys: &'static [&'static str],
    group: ActionGroup,
    what: &'static str,
    short: Option<&'static str>,
) -> ActionSpec {
    ActionSpec { command, name, keys, group, what, short, writes: false }
}

const fn act(
    command: Command,
    name: &'static str,
    keys: &'static [&'static str],
    what: &'static str,
    short: Option<&'static str>,
) -> ActionSpec {
    ActionSpec { command, name, keys, group: ActionGroup::Act, what, short, writes: true }
}

pub const ACTIONS: &[ActionSpec] = &[
    act(Command::Reclaim, "reclaim", &["r"], "take the claim from a holder that is gone", Some("reclaim")),
    act(
        Command::Release,
        "release",
        &["x"],
        "hand the claim back; on a session: all it holds",
        Some("release"),
    ),
    act(Command::Extend, "extend", &["e"], "give a slow holder more time; asks how much", Some("extend")),
    act(
        Command::Undo,
        "undo",
        &["u"],
        "undo the last act (in Audit: the selected act or bulk)",
        Some("undo"),
    ),
    act(
        Command::ReclaimAll,
        "reclaim-all",
        &["shift-r"],
        "reclaim all marked, the group, or the whole set; asks first",
        Some("reclaim group"),
    ),
    act(
        Command::ReleaseAll,
        "release-all",
        &["shift-x"],
        "release all marked, the group, or the whole set; asks first",
        Some("release group"),
    ),
    look(
        Command::Mark,
        "mark",
        &["space"],
        ActionGroup::Act,
        "mark the claim, and go to the next",
        Some("mark"),
    ),
    look(
        Command::CheckPid,
        "pid",
        &["p"],
        ActionGroup::Look,
        "check whether the holder's process runs",
        Some("pid"),
    ),
    look(
        Command::CheckAllPids,
        "pid-all",
        &["shift-p"],
        ActionGroup::Look,
        "the same for every row on the screen",
        None,
    ),
    look(
        Command::Detail,
        "detail",
        &["enter"],
        ActionGroup::Look,
        "everything about it: columns, evidence, past",
        Some("detail"),
    ),
    look(
        Command::Filter,
        "filter",
        &["/"],
        ActionGroup::Look,
        "text  id:x  holder:x*  kind=x  set:x  age>10m  !not",
        Some("filter"),
    ),
    look(
        Command::NextMatch,
        "next-match",
        &["n"],
        ActionGroup::Look,
        "the next claim that passes the filter",
        None,
    ),
    look(Command::PreviousMatch, "previous-match", &["shift-n"], ActionGroup::Look, "the one before", None),
    look(
        Command::Sort,
        "sort",
        &["s"],
        ActionGroup::Look,
        "by worst, age, left, holder, kind, board, id",
        None,
    ),
    look(Command::Reverse, "reverse", &["shift-s"], ActionGroup::Look, "reverse the order", None),
    look(Command::View, "view", &[], ActionGroup::Look, ":view NAME opens what :save view NAME saved", None),
    look(
        Command::Columns,
        "columns",
        &[],
        ActionGroup::Look,
        "the columns of Claims: :columns id,holder,age",
        None,
    ),
    look(
        Command::Snooze,
        "snooze",
        &["z"],
        ActionGroup::Look,
        "hide the claim for 15 minutes; again: show all",
        None,
    ),
    look(Command::Source, "source", &["o"], ActionGroup::Look, "all sources, or one at a time", None),
    look(
        Command::Sources,
        "sources",
        &["shift-o"],
        ActionGroup::Look,
        "every source: its state, its access, its notes",
        None,
    ),
    look(Command::Up, "up", &["up", "k"], ActionGroup::Move, "one line up", None),
    look(Command::Down, "down", &["down", "j"], ActionGroup::Move, "one line down", None),
    look(
        Command::Left,
        "left",
        &["left", "h"],
        ActionGroup::Move,
        "the pane to the left; in Claims: the previous board",
        None,
    ),
    look(
        Command::Right,
        "right",
        &["right", "l"],
        ActionGroup::Move,
        "the pane to the right; in Claims: the next board",
        None,
    ),
    look(Command::PageUp, "page-up", &["pageup", "ctrl-b"], ActionGroup::Move, "one page up", None),
    look(Command::PageDown, "page-down", &["pagedown", "ctrl-f"], ActionGroup::Move, "one page down", None),
    look(Command::Top, "top", &["g", "home"], ActionGroup::Move, "to the first", None),
    look(Command::Bottom, "bottom", &["shift-g", "end"], ActionGroup::Move, "to the last", None),
    look(Command::NextPane, "next-pane", &["tab"], ActionGroup::Move, "the next pane", None),
    look(Command::PreviousPane, "previous-pane", &["backtab"], ActionGroup::Move, "the pane before", None),
    look(
        Command::Overview,
        "overview",
        &["1"],
        ActionGroup::Move,
        "the sets by severity and the timeline",
        None,
    ),
    look(
        Command::Claims,
        "claims",
        &["2"],
        ActionGroup::Move,
        "every claim of all boards, worst first",
        None,
    ),
    look(
        Command::Groups,
        "groups",
        &["3"],
        ActionGroup::Move,
        "trouble by host, holder, kind, board, reason",
        None,
    ),
    look(
        Command::GroupBy,
        "group-by",
        &["shift-b"],
        ActionGroup::Look,
        "in Groups: by the next of host, holder, kind, ... (also g)",
        None,
    ),
    look(
        Command::Sessions,
        "sessions",
        &["4"],
        ActionGroup::Move,
        "who holds claims, and who is alive",
        None,
    ),
    look(Command::Jobs, "jobs", &["5"], ActionGroup::Move, "by kind: running, queued, dead", None),
    look(Command::Locks, "locks", &["6"], ActionGroup::Move, "the locks in trouble", None),
    look(Command::Events, "events", &["7"], ActionGroup::Move, "what entered and left the sets", None),
    look(Command::Audit, "audit", &["8"], ActionGroup::Move, "the trail of all acts", None),
    look(
        Command::Zoom,
        "zoom",
        &["shift-z"],
        ActionGroup::Screen,
        "one pane of the overview alone; again: all",
        None,
    ),
    look(
        Command::Header,
        "header",
        &["ctrl-e"],
        ActionGroup::Screen,
        "the header in one line, or in full",
        None,
    ),
    look(Command::Pause, "pause", &["f"], ActionGroup::Screen, "freeze the screen, and go on", None),
    look(Command::Faster, "faster", &["+", "="], ActionGroup::Screen, "poll more often", None),
    look(Command::Slower, "slower", &["-"], ActionGroup::Screen, "poll less often", None),
    look(
        Command::Palette,
        "palette",
        &[":"],
        ActionGroup::Screen,
        "every command by name, then its reason",
        Some("commands"),
    ),
    look(Command::Copy, "copy", &["y"], ActionGroup::Screen, "copy the id to the clipboard", None),
    look(
        Command::Save,
        "save",
        &["w"],
        ActionGroup::Screen,
        "save the screen as text, ANSI or SVG; :save view NAME",
        None,
    ),
    look(Command::Help, "help", &["?", "f1"], ActionGroup::Screen, "this help", Some("help")),
    look(
        Command::Back,
        "back",
        &["esc"],
        ActionGroup::Screen,
        "close; clear filter and marks; go back",
        None,
    ),
    look(
        Command::Suspend,
        "suspend",
        &["ctrl-z"],
        ActionGroup::Screen,
        "back to the shell; fg returns",
        None,
    ),
    look(
        Command::Record,
        "record",
        &[],
        ActionGroup::Replay,
        ":record FILE records polls; again: ends it",
        None,
    ),
    look(
        Command::Play,
        "play",
        &[],
        ActionGroup::Replay,
        "in a replay, also space: play, and pause",
        Some("play"),
    ),
    look(
        Command::Backtest,
        "backtest",
        &["9"],
        ActionGroup::Replay,
        "in a replay: what other thresholds would have done",
        Some("backtest"),
    ),
    look(
        Command::StepForward,
        "step-forward",
        &["."],
        ActionGroup::Replay,
        "the next frame (also right)",
        Some("step"),
    ),
    look(
        Command::StepBack,
        "step-back",
        &[","],
        ActionGroup::Replay,
        "the frame before (also left)",
        Some("back"),
    ),
    look(
        Command::NextEvent,
        "next-event",
        &["]"],
        ActionGroup::Replay,
        "to the next event or cause",
        Some("next event"),
    ),
    look(
        Command::PreviousEvent,
        "previous-event",
        &["["],
        ActionGroup::Replay,
        "to the one before",
        Some("previous"),
    ),
    look(Command::At, "at", &[], ActionGroup::Replay, "to a time: :at 03:12", None),
    look(
        Command::Quit,
        "quit",
        &["q", "ctrl-c"],
        ActionGroup::Screen,
        "leave; ctrl-c clears a text field first",
        Some("quit"),
    ),
];

impl Command {
    pub fn spec(self) -> &'static ActionSpec {
        // The table has a line for every command; a test checks it.
        ACTIONS.iter().find(|spec| spec.command == self).unwrap_or(&ACTIONS[0])
    }
}
