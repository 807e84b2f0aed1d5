//! `sdfg print`: writes a program in another form.

use clap::{Args, ValueEnum};
use sdfg::ir::Sdfg;
use sdfg::picture::{dot, svg};
use sdfg::{control, json, text};
use sdfg_dace::Form;
use sdfg_library::expand;

use crate::blas::BlasOption;
use crate::failure::Failure;
use crate::output::Destination;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;

/// Print a program as text, JSON, Graphviz source, an SVG picture or a file for DaCe.
///
/// The program is parsed but not checked, so wrong programs can be printed too, unless their loops are lowered or raised.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg print laplace.sdft --format svg -o laplace.svg\n  \
                        sdfg print laplace.json\n  sdfg print laplace.sdft --format dot | dot -Tpdf -o laplace.pdf")]
pub(crate) struct Print {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// The output form.
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Show derived memlets as comments (text only).
    #[arg(long)]
    derived: bool,
    /// The number of open levels in the drawing: loops, branches, states, scopes and nested SDFGs count one each (SVG only).
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Replace reductions and library nodes by their expansions first.
    #[arg(long)]
    expand: bool,
    #[command(flatten)]
    blas: BlasOption,
    /// Lower loops, branches and jumps to states and transitions.
    #[arg(long, conflicts_with = "raise_loops")]
    lower_loops: bool,
    /// Raise states and transitions to loops and branches where they have that form.
    #[arg(long)]
    raise_loops: bool,
    /// Accept C++ code of DaCe's files as external tasklets. This command does not compile it.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The text form (.sdft).
    #[default]
    Text,
    /// The JSON form.
    Json,
    /// Graphviz source.
    Dot,
    /// A drawing.
    Svg,
    /// A `.sdfg` file of DaCe 1.0.2, compressed if the file name ends in `.gz`.
    Dace,
}

impl Print {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        if self.blas.is_given() && !self.expand {
            return Err(Failure::usage("--blas needs --expand")
                .help("add --expand: as they are, library nodes call nothing"));
        }
        Destination::new(self.output.as_deref()).check()?;
        let source = Source::read(&self.program, self.allow_external)?.retargeted(self.retarget);
        // Control flow is rewritten in right programs only; so it is for DaCe.
        let rewrites = self.lower_loops || self.raise_loops || self.format == Format::Dace;
        let mut sdfg =
            if rewrites { source.validated(terminal)?.sdfg().clone() } else { source.parse(terminal)? };
        if self.expand {
            sdfg = expand(&sdfg, self.blas.registry()?.as_ref()).map_err(Failure::program)?;
        }
        if self.lower_loops {
            control::lower(&mut sdfg);
        }
        if self.raise_loops {
            control::raise(&mut sdfg);
        }
        let printed = match self.format {
            Format::Text => text::print_with(&sdfg, text::PrintOptions { derived: self.derived }).text,
            Format::Json => json::to_string(&sdfg),
            Format::Dot => dot::write(&sdfg),
            Format::Svg => {
                let depth = self.depth.unwrap_or(svg::Options::default().depth);
                svg::write(&sdfg, &svg::Options { depth })
            }
            Format::Dace => return self.write_for_dace(&sdfg),
        };
        Destination::new(self.output.as_deref()).write(printed.as_bytes())
    }

    fn write_for_dace(&self, sdfg: &Sdfg) -> Result<(), Failure> {
        let is_compressed = self.output.as_deref().is_some_and(|file| file.ends_with(".gz"));
        let form = if is_compressed { Form::Compressed } else { Form::Plain };
        let bytes = sdfg_dace::write(sdfg, form).map_err(|refused| {
            let findings: Vec<String> = refused.report.errors().map(ToString::to_string).collect();
            Failure::program(findings.join("\n"))
        })?;
        Destination::new(self.output.as_deref()).write(&bytes)
    }
}
