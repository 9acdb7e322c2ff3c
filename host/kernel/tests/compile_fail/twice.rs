use chio_host_kernel::admission::Committed;
use chio_host_kernel::ports::{Invocation, ToolServer};

async fn twice(server: &dyn ToolServer, committed: Committed, invocation: Invocation) {
    let _ = server.call(committed, invocation.clone()).await;
    let _ = server.call(committed, invocation).await;
}

fn main() {}
