//! Sends a signed payment with the client that openapi-generator has made. Arguments: base URL, file of the request, hash.

use openapi::apis::configuration::Configuration;
use openapi::apis::mempool_api::{create_transactions, get_supply, get_transaction_status};
use openapi::models::CreateTransactionsRequest;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, base_path, file, hash] = arguments.as_slice() else { return Err("three arguments are needed".into()) };
    let node = Configuration { base_path: base_path.clone(), ..Configuration::default() };
    let request: CreateTransactionsRequest = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    create_transactions(&node, request).await?;
    loop {
        let found = get_transaction_status(&node, Some(vec![hash.clone()]), None).await?;
        if found.get(hash).is_some_and(|one| one.status.to_string() == "Confirmed") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let issued: u64 = get_supply(&node).await?.issued;
    print!("{issued}");
    Ok(())
}
