//! Device queues: pushes in kernels, and their preparation, pushes and pops by the host.
//!
//! A push in a kernel takes a number of the queue's counter by an atomic step. In CUDA, the threads of a warp that push together take
//! theirs in one step, and one thread carries it out. `crates/runtime/src/device/queue.h` has the functions of the host.

use sdfg::symbolic::Expr;
use sdfg::tasklet::BinaryOperation;

use super::check::Access;
use super::dialect::Dialect;
use super::error::Print;
use super::function::{Function, Lanes};
use super::memory::{Place, product, sum};
use super::program::Program;
use super::text::Code;
use crate::interface::Status;
use crate::plan::{Allocation, BufferId, Location, Pop, Push, PushedQueues};

impl Function<'_, '_> {
    // The host.

    /// The stream and the number of a queue, as arguments behind the device.
    fn device_queue(&mut self, queue: &Location) -> Print<String> {
        let (device, name) = (self.queue_device(), self.program.names.buffer(queue.buffer));
        Ok(format!("{device}, {name}, {}", self.index(&queue.offset)?.text))
    }

    /// Makes the empty queues of a stream, whose address goes to `pointer`.
    pub(super) fn open_device_queues(
        &mut self,
        id: BufferId,
        pointer: &str,
        (queues, capacity): (&str, &str),
    ) -> Print<()> {
        let buffer = self.program.plan.buffer(id);
        self.line(format!("{pointer} = sdfg_queues_open({queues}, {capacity}, {});", buffer.element.size()));
        let text = format!("no memory for `{}`", buffer.name);
        self.fail_if(&format!("{pointer} == NULL"), Status::OutOfMemory, &text)
    }

    /// Makes room for the pushes of a kernel that is about to start.
    pub(super) fn prepare_queues(&mut self, queues: &[PushedQueues]) -> Print<()> {
        for PushedQueues { stream, most } in queues {
            let most = match most {
                Some(most) => {
                    let maximum = self
                        .program
                        .integer_helper(BinaryOperation::Maximum, sdfg::dtype::ScalarType::I64)?;
                    format!("{maximum}({}, 0)", self.plain_index(most)?.text)
                }
                None => "-1".to_owned(),
            };
            let (device, name) = (self.queue_device(), self.program.names.buffer(*stream));
            self.on_success_of(&format!("sdfg_queues_prepare({device}, {name}, {most})"))?;
        }
        Ok(())
    }

    /// Takes the lengths of queues behind a kernel, and ends the run if one had no room for an element.
    pub(super) fn settle_queues(&mut self, label: &str, queues: &[PushedQueues]) -> Print<()> {
        for PushedQueues { stream, .. } in queues {
            let (device, name) = (self.queue_device(), self.program.names.buffer(*stream));
            let buffer = self.program.plan.buffer(*stream);
            let text = if matches!(&buffer.allocation, Allocation::Queues { capacity: Some(_), .. }) {
                deadlock(label, "room in", &buffer.name)
            } else {
                let name = &buffer.name;
                format!("the kernel `{label}` pushed more elements to the stream `{name}` than were expected")
            };
            let over = self.temporary();
            self.line(format!("bool {over} = false;"));
            self.on_success_of(&format!("sdfg_queues_settle({device}, {name}, &{over})"))?;
            self.fail_if(&over, Status::Trap, &text)?;
        }
        Ok(())
    }

    /// Writes a push of a row by the host.
    pub(super) fn push_to_device(&mut self, push: &Push) -> Print<()> {
        let [from, count, stride] = self.row(&push.from)?;
        let queue = self.device_queue(&push.queue)?;
        self.look_at_row(&push.from, &count, Access::Read)?;
        self.block("", |f| {
            let row = format!("{from}, {count}, {stride}");
            f.push_row_to_device(&push.label, push.queue.buffer, &queue, &row)
        })
    }

    fn push_row_to_device(&mut self, label: &str, stream: BufferId, queue: &str, row: &str) -> Print<()> {
        let text = deadlock(label, "room in", &self.program.plan.buffer(stream).name);
        let full = self.temporary();
        self.line(format!("bool {full} = false;"));
        self.on_success_of(&format!("sdfg_queues_push({queue}, {row}, &{full})"))?;
        self.fail_if(&full, Status::Trap, &text)
    }

    /// Adds an element to a queue by the host.
    pub(super) fn push_value_to_device(
        &mut self,
        label: &str,
        queue: &Location,
        value: &Lanes,
        condition: Option<&str>,
    ) -> Print<()> {
        let arguments = self.device_queue(queue)?;
        self.under(condition, |f| {
            let place = f.element_place(queue.buffer)?;
            f.store(&place, value)?;
            f.push_row_to_device(label, queue.buffer, &arguments, &format!("&{}, 1, 0", place.text))
        })
    }

    /// Writes a pop.
    pub(super) fn pop_from_device(&mut self, pop: &Pop) -> Print<()> {
        let queue = self.device_queue(&pop.queue)?;
        let [to, count, stride] = self.row(&pop.to)?;
        let is_of_host = !self.program.is_on_device(pop.to.first.buffer);
        let name = &self.program.plan.buffer(pop.queue.buffer).name;
        let text = deadlock(&pop.label, "an element of", name);
        self.block("", |f| {
            let taken = f.temporary();
            f.line(format!("int64_t {taken} = 0;"));
            f.on_success_of(&format!(
                "sdfg_queues_take({queue}, {to}, {count}, {stride}, {is_of_host}, &{taken})"
            ))?;
            if pop.waits {
                f.fail_if(&format!("{taken} < {count}"), Status::Trap, &text)?;
            }
            f.look_at_row(&pop.to, &taken, Access::Write)?;
            match &pop.taken {
                Some(variable) => f.set_variable(variable, &Code::atom(taken)),
                None => Ok(()),
            }
        })
    }

    /// The device, as the functions of queues take it: for CUDA, the stream of their commands.
    pub(super) fn queue_device(&self) -> String {
        match (self.program.dialect.has_device_runtime(), self.stream) {
            (false, Some(stream)) if stream > 0 => self.stream_text(),
            _ => self.program.queue_device().to_owned(),
        }
    }

    // Kernels.

    /// Writes a push of a row by a thread.
    pub(super) fn push_row_in_kernel(&mut self, push: &Push) -> Print<()> {
        let count = self.index(&push.from.count)?.text;
        let first = self.plain_index(&push.from.first.offset)?;
        let stride = self.index(&push.from.stride)?;
        let number = self.temporary();
        self.lines.open(format!("for (int64_t {number} = 0; {number} < {count}; ++{number}) {{"));
        self.loop_body(&|f| {
            let position = sum(&first, &product(&Code::atom(number.clone()), &stride));
            let place = f.place_at(push.from.first.buffer, &position);
            let value = f.load(&place)?;
            f.push_in_kernel(&push.queue, &value, None)
        })
    }

    /// Adds an element to a queue by a thread, if a condition holds where there is one.
    pub(super) fn push_in_kernel(
        &mut self,
        queue: &Location,
        value: &Lanes,
        condition: Option<&str>,
    ) -> Print<()> {
        let buffer = self.program.plan.buffer(queue.buffer);
        let name = self.program.names.buffer(queue.buffer);
        let number = self.index(&queue.offset)?;
        let slot_of = self.program.slot_helper();
        let together = match self.program.dialect {
            Dialect::OpenCl => String::new(),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver if buffer.size == Expr::one() => {
                ", __activemask()".to_owned()
            }
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => {
                format!(", {}({})", self.program.together_helper(), number.text)
            }
        };
        let (space, ty) = (self.program.dialect.global(), self.program.memory_type(buffer.element));
        self.under(condition, |f| {
            let slot = f.temporary();
            f.line(format!("const int64_t {slot} = {slot_of}({name}, {}{together});", number.text));
            f.block(format!("if ({slot} < {name}[0])"), |f| {
                let position = sum(&product(&number, &Code::atom(format!("{name}[1]"))), &Code::atom(slot));
                let elements = f.temporary();
                f.line(format!(
                    "{space}{ty} *{elements} = ({space}{ty} *)(({space}char *){name} + {name}[2]);"
                ));
                let text = format!("{elements}[{}]", position.text);
                f.store(&Place { text, element: buffer.element, is_shared: false, checked: None }, value)
            })
        })
    }

    /// Writes statements in a block of their own, under a condition where there is one.
    fn under(&mut self, condition: Option<&str>, body: impl FnOnce(&mut Self) -> Print<()>) -> Print<()> {
        self.block(condition.map(|condition| format!("if ({condition})")).unwrap_or_default(), body)
    }
}

impl Program<'_> {
    /// Whether a buffer is a stream in memory of a device.
    pub(super) fn is_device_queue(&self, id: BufferId) -> bool {
        self.is_stream(id) && self.is_on_device(id)
    }

    /// The device, as the functions of queues take it; for CUDA, the stream of the caller.
    pub(super) fn queue_device(&self) -> &'static str {
        if self.dialect.has_device_runtime() { "handle->device" } else { self.callers_stream() }
    }

    /// The type of the queues of a stream, with its functions.
    pub(super) fn queues_helper(&self) -> String {
        self.include("string.h");
        let definitions = match self.dialect {
            Dialect::C | Dialect::Cuda => {
                let stream = "(cudaStream_t)(device)";
                let (allocate, copy) = (self.allocate_call(stream), self.copy_call(stream, true));
                format!(
                    "typedef void sdfg_queue_device;
typedef cudaError_t sdfg_queue_status;
#define SDFG_QUEUE_FUNCTION [[maybe_unused]] static
#define sdfg_queue_allocate(device, pointer, bytes) {allocate}pointer, bytes)
#define sdfg_queue_free(device, pointer) cudaFreeAsync(pointer, {stream})
#define sdfg_queue_copy(device, ...) {copy}__VA_ARGS__)
"
                )
            }
            Dialect::OpenCl | Dialect::CudaDriver => "typedef sdfg_device sdfg_queue_device;
typedef int32_t sdfg_queue_status;
#define SDFG_QUEUE_FUNCTION SDFG_DEVICE_FUNCTION
#define sdfg_queue_allocate sdfg_device_allocate
#define sdfg_queue_free sdfg_device_free
#define sdfg_queue_copy sdfg_device_copy
"
            .to_owned(),
        };
        self.helper("sdfg_queues", || format!("{definitions}{}", sdfg_runtime::QUEUE_SOURCE))
    }

    /// The helper by which a thread of a kernel takes a number of a queue's counter.
    fn slot_helper(&self) -> String {
        self.helper("sdfg_queue_slot", || match self.dialect {
            Dialect::OpenCl => SLOT_OF_OPENCL.to_owned(),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => SLOT_OF_CUDA.to_owned(),
        })
    }

    /// The helper that finds the threads of a warp that push to one queue together.
    fn together_helper(&self) -> String {
        self.helper("sdfg_queue_together", || TOGETHER.to_owned())
    }
}

/// The message of a push or pop that nothing lets go on.
fn deadlock(label: &str, what: &str, stream: &str) -> String {
    format!("deadlock: `{label}` waits for {what} the stream `{stream}`, and nothing else can run")
}

const SLOT_OF_OPENCL: &str = "\
static long sdfg_queue_slot(__global int64_t *queues, int64_t number) {
    return atom_inc((volatile __global long *)&queues[3 + number]);
}
";

/// The threads in `together` take consecutive numbers: the first of them adds their number to the counter.
const SLOT_OF_CUDA: &str = "\
static __device__ int64_t sdfg_queue_slot(int64_t *queues, int64_t number, unsigned together) {
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u;
    const int leader = __ffs((int)together) - 1;
    unsigned long long first = 0;
    if ((int)lane == leader) {
        first = atomicAdd((unsigned long long *)&queues[3 + number], (unsigned long long)__popc(together));
    }
    first = __shfl_sync(together, first, leader);
    return (int64_t)first + __popc(together & ((1u << lane) - 1u));
}
";

const TOGETHER: &str = "\
static __device__ unsigned sdfg_queue_together(int64_t number) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
    (void)number;
    return 1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u);
#else
    return __match_any_sync(__activemask(), (unsigned long long)number);
#endif
}
";
