//! Pages of transformations: the documentation of a type as sections, and as text for a terminal.

use super::Transformation;

/// The page of a transformation: the documentation of its type by sections, and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    name: &'static str,
    group: &'static str,
    is_strict: bool,
    /// The sections in their order. The first one has no title: it states the purpose.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading; empty for the purpose.
    pub title: String,
    /// Markdown: paragraphs, lists and code blocks.
    pub text: String,
}

/// Headings that the documentation of each type has, in this order, after its purpose.
pub const HEADINGS: [&str; 5] = ["When it applies", "Refusals", "Before", "After", "Soundness"];

/// The width of a page on a terminal.
const WIDTH: usize = 90;

impl Page {
    /// The page of a transformation.
    pub fn of(transformation: &dyn Transformation) -> Self {
        let metadata = transformation.metadata();
        let mut sections = sections(&metadata.page());
        let names = transformation.pattern().names();
        let pattern = if names.is_empty() { "an SDFG".to_owned() } else { names.join(" -> ") };
        let mut add = |title: &str, text: String| sections.push(Section { title: title.to_owned(), text });
        add("Guarantee", metadata.soundness.name().to_owned());
        add("Pattern", pattern);
        let described = metadata.parameters.iter().map(|parameter| {
            let default = parameter.default.map_or("required".to_owned(), |value| format!("default {value}"));
            format!("- {} ({}, {default}): {}", parameter.name, parameter.ty, parameter.summary)
        });
        let parameters: Vec<String> = described.collect();
        if !parameters.is_empty() {
            add("Parameters", parameters.join("\n"));
        }
        add("Source", metadata.source.to_owned());
        Page { name: metadata.name, group: metadata.group.name(), is_strict: metadata.is_strict, sections }
    }

    /// The text of a section.
    pub fn section(&self, title: &str) -> Option<&str> {
        self.sections.iter().find(|section| section.title == title).map(|section| section.text.as_str())
    }
}

impl std::fmt::Display for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let strict = if self.is_strict { ", part of `sdfg simplify`" } else { "" };
        writeln!(f, "{} ({}{strict})", self.name, self.group)?;
        for section in &self.sections {
            if !section.title.is_empty() {
                writeln!(f, "\n{}", section.title)?;
            }
            write!(f, "\n{}", indented(&section.text))?;
        }
        Ok(())
    }
}

/// The sections of Markdown, by its headings.
fn sections(page: &str) -> Vec<Section> {
    let mut found = vec![Section { title: String::new(), text: String::new() }];
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        match (line.strip_prefix("# "), found.last_mut()) {
            (Some(title), _) if !is_code => {
                found.push(Section { title: title.to_owned(), text: String::new() });
            }
            (_, Some(section)) => section.text.push_str(&format!("{line}\n")),
            (_, None) => {}
        }
    }
    for section in &mut found {
        section.text = section.text.trim_matches('\n').to_owned();
    }
    found
}

/// Markdown as plain text: paragraphs and items of lists with lines of the width of a page, code as it is.
fn indented(text: &str) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            flush(&mut paragraph, &mut out);
        } else if is_code {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        } else {
            if line.is_empty() || line.starts_with("- ") {
                flush(&mut paragraph, &mut out);
            }
            if line.is_empty() {
                out.push('\n');
            }
            paragraph.push(' ');
            paragraph.push_str(line.trim());
        }
    }
    flush(&mut paragraph, &mut out);
    out
}

/// Writes a paragraph in lines. Code in it is not divided, and links to types are their names.
fn flush(paragraph: &mut String, out: &mut String) {
    let text = std::mem::take(paragraph).replace("[`", "`").replace("`]", "`");
    let rest = if text.trim_start().starts_with("- ") { "    " } else { "  " };
    let mut line = String::new();
    let mut code = String::new();
    for word in text.split_whitespace() {
        code = if code.is_empty() { word.to_owned() } else { format!("{code} {word}") };
        if code.matches('`').count() % 2 == 1 {
            continue;
        }
        if line.is_empty() {
            line = format!("  {code}");
        } else if line.chars().count() + 1 + code.chars().count() > WIDTH {
            out.push_str(&format!("{line}\n"));
            line = format!("{rest}{code}");
        } else {
            line.push_str(&format!(" {code}"));
        }
        code.clear();
    }
    for last in [line, code] {
        if !last.is_empty() {
            out.push_str(&format!("{last}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, Section, WIDTH, indented, sections};
    use crate::Transformation;
    use crate::rewrites::{LiftToLibrary, MapFusion, MapTiling, StateFusion, StripMining};

    #[test]
    fn a_page_begins_with_its_name_and_separates_its_sections() {
        let section = |title: &str, text: &str| Section { title: title.to_owned(), text: text.to_owned() };
        let sections = vec![section("", "Purpose."), section("Refusals", "- One.\n- Two.\n\nText.")];
        let mut page = Page { name: "Name", group: "map", is_strict: true, sections };
        let text = "\n\n  Purpose.\n\nRefusals\n\n  - One.\n  - Two.\n\n  Text.\n";
        assert_eq!(page.to_string(), format!("Name (map, part of `sdfg simplify`){text}"));
        page.is_strict = false;
        assert_eq!(page.to_string(), format!("Name (map){text}"));
        assert_eq!((page.section("Refusals").map(str::len), page.section("After")), (Some(20), None));
    }

    /// Users read these words in `sdfg transforms NAME`.
    #[test]
    fn a_page_tells_what_stays_the_same_and_what_is_matched() {
        let section = |transformation: &dyn Transformation, title: &str| {
            Page::of(transformation).section(title).unwrap_or_default().to_owned()
        };
        let guarantee = |transformation: &dyn Transformation| section(transformation, "Guarantee");
        assert_eq!(guarantee(&StateFusion::default()), "results stay the same");
        assert_eq!(guarantee(&LiftToLibrary::default()), "results may differ in rounding");
        assert_eq!(section(&MapFusion::default(), "Pattern"), "first -> between -> second");
        assert_eq!(section(&StripMining::default(), "Pattern"), "map");
        assert_eq!(section(&LiftToLibrary::default(), "Parameters"), "");
        assert!(section(&MapTiling::default(), "Parameters").starts_with("- tile_sizes ("));
        let page = Page::of(&MapTiling::default());
        assert_eq!((page.name, page.group, page.is_strict), ("MapTiling", "map", false));
        assert_eq!(Page::of(&StateFusion::default()).group, "control flow");
        assert!(Page::of(&StateFusion::default()).is_strict);
    }

    #[test]
    fn headings_divide_a_page_and_code_has_none() {
        let found = sections("Purpose.\n\n# Before\n\n```sdft\n# a comment\n```\n\n# After\n\nText.");
        let titles: Vec<_> = found.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["", "Before", "After"]);
        assert_eq!(found[1].text, "```sdft\n# a comment\n```");
    }

    /// A line of all columns is not divided, and one of a column more is.
    #[test]
    fn lines_have_the_width() {
        let word = |length: usize| "x".repeat(length);
        let full = indented(&format!("{} {}", word(10), word(WIDTH - 13)));
        assert_eq!(full, format!("  {} {}\n", word(10), word(WIDTH - 13)));
        assert_eq!(full.trim_end().chars().count(), WIDTH);
        let more = indented(&format!("{} {}", word(10), word(WIDTH - 12)));
        assert_eq!(more, format!("  {}\n  {}\n", word(10), word(WIDTH - 12)));
    }

    #[test]
    fn text_is_wrapped_and_code_is_not() {
        let words = "It is [`MapTiling`] of a range. ".repeat(4);
        let text = indented(&format!("{words}`a range`\n\n- {words}\n\n```sdft\n{words}\n```"));
        assert!(text.contains("  It is `MapTiling` of a range. It is"), "{text}");
        assert!(text.contains("\n  - It is") && text.contains("\n    range. It is `MapTiling`"), "{text}");
        assert!(text.contains(&format!("    {}", words.trim_end())), "{text}");
        assert!(!text.contains('[') || text.contains("    It is [`MapTiling`]"), "{text}");
    }
}
