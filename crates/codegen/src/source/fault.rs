//! Failed checks in kernels: the first one of a kernel, in the order of its iterations, stands in memory of the device until the
//! host has read it.
//!
//! A failed check has a number in its kernel; the host has the messages. The thread does not carry out the access, and leaves
//! its work. Threads of a block that run an iteration together meet at barriers, so one leaves the loop that they share, and the
//! whole block ends behind its next barrier.

use super::dialect::Dialect;
use super::error::Print;
use super::function::{Function, quoted};
use super::program::Program;
use super::text::Code;

/// Words of the memory for a fault: a lock; the number of the check and 1, or 0 if there is no fault; the iteration; the
/// position in a loop of a block; and two numbers of the message.
const WORDS: usize = 6;

/// The variable that says whether the thread failed.
const FAILED: &str = "sdfg_failed";

/// The element that says whether a thread of the block failed.
const STOP: &str = "sdfg_stop[0]";

/// The kernel that a function of a device is, as far as its checks need it.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// The message of each check, once each.
    pub(super) messages: Vec<String>,
    /// Whether an iteration is being written, which has a number.
    has_iteration: bool,
    /// Whether an iteration of a loop of a block is being written, which has a number.
    has_position: bool,
    /// Ends of the loops of a block around, as labels.
    sections: Vec<String>,
    n_sections: usize,
    /// Whether the threads of a block run an iteration together.
    pub(super) is_together: bool,
}

impl<'w, 'p> Function<'w, 'p> {
    /// Notes a fault if a condition holds, and leaves the work of the thread.
    pub(super) fn note_fault(&mut self, condition: &str, message: &str, (a, b): (&str, &str)) -> Print<()> {
        let number = self.faults.messages.iter().position(|known| known == message).unwrap_or_else(|| {
            self.faults.messages.push(message.to_owned());
            self.faults.messages.len() - 1
        });
        let report = self.program.fault_helper();
        let iteration = if self.faults.has_iteration { "sdfg_iteration" } else { "0" };
        let section = self.faults.sections.last().cloned();
        let position = if self.faults.has_position { "sdfg_position" } else { "0" };
        self.block(format!("if ({condition})"), |f| {
            f.line(format!("{report}(sdfg_faults, {number}, {iteration}, {position}, {a}, {b});"));
            match section {
                Some(label) => {
                    f.line(format!("{FAILED} = 1;"));
                    f.line(format!("{STOP} = 1;"));
                    f.go_to(label);
                }
                None => f.line("goto done;"),
            }
            Ok(())
        })
    }

    /// Declares what the threads of a block tell each other of faults.
    pub(super) fn open_faults(&mut self) {
        if !self.is_checked() || !self.faults.is_together {
            return;
        }
        let dialect = self.program.dialect;
        let (shared, thread) = (dialect.shared(), dialect.thread(0));
        self.declare("sdfg_stop", format!("{shared} int sdfg_stop[1];"));
        self.declare(FAILED, format!("int {FAILED} = 0;"));
        self.line(format!("if ({thread} == 0u) {{ {STOP} = 0; }}"));
        self.line(dialect.barrier());
        // A kernel without barriers does not read it elsewhere.
        self.line(format!("(void){STOP};"));
    }

    /// Behind a barrier: the block ends if one of its threads failed before it.
    pub(super) fn leave_if_others_failed(&mut self) -> Print<()> {
        if !self.is_checked() || !self.faults.is_together {
            return Ok(());
        }
        self.block(format!("if ({STOP} != 0)"), |f| {
            f.line("goto done;");
            Ok(())
        })?;
        // No thread fails before all have looked.
        self.line(self.program.dialect.barrier());
        Ok(())
    }

    /// Writes an iteration of a kernel with its number.
    pub(super) fn in_iteration(
        &mut self,
        number: Option<Code>,
        body: impl FnOnce(&mut Self) -> Print<()>,
    ) -> Print<()> {
        let Some(number) = number.filter(|_| self.is_checked()) else { return body(self) };
        self.line(format!("const int64_t sdfg_iteration = {};", number.text));
        self.faults.has_iteration = true;
        body(self)?;
        self.faults.has_iteration = false;
        Ok(())
    }

    /// Writes an iteration of a loop that the threads of a block share with its number.
    pub(super) fn at_position(
        &mut self,
        number: Option<Code>,
        body: impl FnOnce(&mut Self) -> Print<()>,
    ) -> Print<()> {
        let Some(number) = number.filter(|_| self.is_checked()) else { return body(self) };
        self.line(format!("const int64_t sdfg_position = {};", number.text));
        self.faults.has_position = true;
        body(self)?;
        self.faults.has_position = false;
        Ok(())
    }

    /// Writes a loop that the threads of a block share, under a condition; threads that failed take no part.
    pub(super) fn section(
        &mut self,
        condition: &str,
        body: impl FnOnce(&mut Self) -> Print<()>,
    ) -> Print<()> {
        if !self.is_checked() {
            return self.block(format!("if ({condition})"), body);
        }
        self.faults.n_sections += 1;
        let label = format!("section_{}", self.faults.n_sections);
        self.faults.sections.push(label.clone());
        self.block(format!("if ({FAILED} == 0 && {condition})"), body)?;
        self.faults.sections.pop();
        self.label(&label);
        if self.program.dialect == Dialect::OpenCl && self.faults.is_together {
            // PoCL 3.1 lets all threads run the section of one thread if no barrier follows a label to which code of it jumps.
            self.line(Dialect::OpenCl.barrier());
        }
        Ok(())
    }

    /// Ends the run if a kernel, which was started, noted a fault.
    pub(super) fn take_fault(&mut self, messages: &[String]) -> Print<()> {
        let texts: Vec<String> = messages.iter().map(|message| quoted(message)).collect();
        self.line(format!("static const char *const sdfg_messages_of[] = {{ {} }};", texts.join(", ")));
        let helper = self.program.take_fault_helper()?;
        self.take_status(&format!("{helper}(handle, sdfg_messages_of)"))
    }

    /// Sets bytes of rows in memory of the device: `width` bytes in each of `rows` rows, `stride` bytes apart.
    pub(super) fn fill_on_device(
        &mut self,
        to: &str,
        (width, rows, stride): (&str, &str, &str),
        value: u8,
    ) -> Print<()> {
        let fill = self.program.fill_helper()?;
        self.take_status(&format!("{fill}(handle, {to}, {stride}, {width}, {rows}, {value})"))
    }
}

impl Program<'_> {
    /// Prepares the memory for faults: a run that failed left one there.
    pub(super) fn open_fault_memory(&self, f: &mut Function<'_, '_>) -> Print<()> {
        if !self.has_faults.get() {
            return Ok(());
        }
        let bytes = WORDS * 8;
        f.block("if (handle->sdfg_faults == NULL)", |f| {
            f.allocate_on_device("int64_t", "handle->sdfg_faults", &sdfg::symbolic::Expr::int(WORDS as i64))
        })?;
        f.fill_on_device("handle->sdfg_faults", (&bytes.to_string(), "1", &bytes.to_string()), 0)
    }

    /// Frees the memory for faults with the handle. Closing a device runtime does it.
    pub(super) fn close_fault_memory(&self) -> &'static str {
        match self.dialect {
            Dialect::Cuda if self.has_faults.get() => "    (void)cudaFree(handle->sdfg_faults);\n",
            Dialect::C | Dialect::Cuda | Dialect::OpenCl | Dialect::CudaDriver => "",
        }
    }

    /// The helper by which a thread notes a fault. The first one counts, in the order of iterations, of checks in the text of the
    /// kernel, and of positions.
    fn fault_helper(&self) -> String {
        self.has_faults.set(true);
        let (head, space, exchange, release, fence) = match self.dialect {
            Dialect::OpenCl => (
                "static void",
                "__global ",
                "atomic_cmpxchg((volatile __global uint *)faults, 0u, 1u)",
                "atomic_xchg((volatile __global uint *)faults, 0u)",
                "mem_fence(CLK_GLOBAL_MEM_FENCE)",
            ),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => (
                "static __device__ void",
                "",
                "atomicCAS((unsigned *)(void *)faults, 0u, 1u)",
                "atomicExch((unsigned *)(void *)faults, 0u)",
                "__threadfence()",
            ),
        };
        self.helper("sdfg_note_fault", || {
            format!(
                "{head} sdfg_note_fault({space}int64_t *faults, int64_t check, int64_t iteration, int64_t position, int64_t a, int64_t b) {{
    volatile {space}int64_t *const first = (volatile {space}int64_t *)faults;
    bool is_done = false;
    while (!is_done) {{
        if ({exchange} == 0u) {{
            {fence};
            if (first[1] == 0 || iteration < first[2] || (iteration == first[2] && (check + 1 < first[1] || (check + 1 == first[1] && position < first[3])))) {{
                first[1] = check + 1;
                first[2] = iteration;
                first[3] = position;
                first[4] = a;
                first[5] = b;
            }}
            {fence};
            (void){release};
            is_done = true;
        }}
    }}
}}
"
            )
        })
    }

    /// The helper that ends a run whose last kernel noted a fault.
    fn take_fault_helper(&self) -> Print<String> {
        let (name, trap, copy) = (&self.plan.name, self.trap_helper(), self.checked_copy()?);
        Ok(self.helper("sdfg_take_fault", || {
            format!(
                "static int32_t sdfg_take_fault({name}_t *handle, const char *const *messages) {{
    int64_t fault[{WORDS}] = {{ 0 }};
    const int32_t status = {copy}fault, sizeof fault, handle->sdfg_faults, sizeof fault, sizeof fault, 1));
    return status != 0 || fault[1] == 0 ? status : {trap}(handle, messages[fault[1] - 1], fault[4], fault[5]);
}}
"
            )
        }))
    }

    /// The helper that sets bytes in memory of the device.
    fn fill_helper(&self) -> Print<String> {
        let (name, copy, fail) = (&self.plan.name, self.checked_copy()?, self.fail_helper());
        let memory = crate::interface::Status::OutOfMemory.code();
        self.include("string.h");
        Ok(self.helper("sdfg_device_fill", || {
            format!(
                "static int32_t sdfg_device_fill({name}_t *handle, void *to, int64_t stride, int64_t width, int64_t rows, int value) {{
    if (width <= 0 || rows <= 0) {{
        return 0;
    }}
    void *const bytes = malloc((size_t)(width * rows));
    if (bytes == NULL) {{
        return {fail}(handle, {memory}, \"no memory for checks\");
    }}
    memset(bytes, value, (size_t)(width * rows));
    const int32_t status = {copy}to, stride, bytes, width, width, rows));
    free(bytes);
    return status;
}}
"
            )
        }))
    }

    /// The helper that looks for a byte that is 0 in memory of the device: its number in the rows, or -1.
    pub(super) fn find_zero_helper(&self) -> Print<String> {
        let (name, copy, fail) = (&self.plan.name, self.checked_copy()?, self.fail_helper());
        let memory = crate::interface::Status::OutOfMemory.code();
        self.include("string.h");
        Ok(self.helper("sdfg_device_find_zero", || {
            format!(
                "static int32_t sdfg_device_find_zero({name}_t *handle, const void *from, int64_t stride, int64_t width, int64_t rows, int64_t *found) {{
    *found = -1;
    if (width <= 0 || rows <= 0) {{
        return 0;
    }}
    char *const bytes = (char *)malloc((size_t)(width * rows));
    if (bytes == NULL) {{
        return {fail}(handle, {memory}, \"no memory for checks\");
    }}
    const int32_t status = {copy}bytes, width, from, stride, width, rows));
    const char *const zero = status == 0 ? (const char *)memchr(bytes, 0, (size_t)(width * rows)) : NULL;
    if (zero != NULL) {{
        *found = zero - bytes;
    }}
    free(bytes);
    return status;
}}
"
            )
        }))
    }

    /// The beginning of a copy of rows by the device whose result is a status.
    fn checked_copy(&self) -> Print<String> {
        Ok(format!("{}(handle, {}", self.device_status()?, self.copy_call(self.callers_stream(), true)))
    }
}
