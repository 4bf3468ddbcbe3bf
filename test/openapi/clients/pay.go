// Sends a signed payment with the client that oapi-codegen has made. Arguments: base URL, file of the request, hash.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"pay/client"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	baseURL, file, hash := os.Args[1], os.Args[2], os.Args[3]
	text, err := os.ReadFile(file)
	must(err)
	var request client.CreateTransactionsRequest
	must(json.Unmarshal(text, &request))
	node, err := client.NewClientWithResponses(baseURL)
	must(err)
	sent, err := node.CreateTransactionsWithResponse(context.Background(), request)
	must(err)
	if sent.JSON201 == nil {
		panic(string(sent.Body))
	}
	for {
		hashes := []string{hash}
		found, err := node.GetTransactionStatusWithResponse(context.Background(), &client.GetTransactionStatusParams{Hash: &hashes})
		must(err)
		if found.JSON200 != nil && (*found.JSON200)[hash].Status == client.TxStatusTypeAnswerConfirmed {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	supply, err := node.GetSupplyWithResponse(context.Background())
	must(err)
	fmt.Print(supply.JSON200.Issued)
}
