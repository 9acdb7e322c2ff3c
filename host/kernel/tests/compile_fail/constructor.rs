use chio_host_kernel::admission::Committed;
use chio_host_kernel::operation::OperationId;

fn forge(operation: OperationId) -> Committed {
    Committed::new(operation)
}

fn main() {}
