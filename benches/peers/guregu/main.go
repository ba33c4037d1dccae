// guregu/dynamo: one batch for each worker, in a goroutine of its own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/guregu/dynamo/v2"
)

const note = "To be left with the neighbours at number seven, who are at home in the afternoon, or behind the shed."

type order struct {
	ID       string `dynamo:"id"`
	N        int    `dynamo:"n"`
	Customer string `dynamo:"customer"`
	Note     string `dynamo:"note"`
}

type told struct {
	Failed     bool  `json:"failed"`
	HandedBack []int `json:"handed_back"`
}

func makeOrder(number int, duplicates bool) order {
	of := number
	if duplicates && number%100 == 99 {
		of -= 10
	}
	return order{
		ID:       fmt.Sprintf("order-%07d", of),
		N:        number,
		Customer: fmt.Sprintf("customer-%d", number%977),
		Note:     note,
	}
}

func main() {
	endpoint := flag.String("endpoint", "", "the URL of the service")
	target := flag.String("target", "", "the table")
	entries := flag.Int("entries", 0, "how many")
	workers := flag.Int("workers", 0, "how many at once")
	duplicates := flag.Bool("duplicates", false, "each hundredth write has the key of the one ten places before it")
	flag.Parse()

	db := dynamo.New(aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("peers", "peers", ""),
	})
	table := db.Table(*target)
	size := (*entries + *workers - 1) / *workers
	var parts [][]any
	for start := 0; start < *entries; start += size {
		var part []any
		for number := start; number < min(start+size, *entries); number++ {
			part = append(part, makeOrder(number, *duplicates))
		}
		parts = append(parts, part)
	}

	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	lines.Scan()

	all := told{HandedBack: []int{}}
	var mutex sync.Mutex
	var group sync.WaitGroup
	for _, part := range parts {
		group.Go(func() {
			wrote, err := table.Batch("id").Write().Put(part...).Run(context.Background())
			if err == nil {
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			all.Failed = true
			// "Consult the wrote return amount to figure out which operations have succeeded."
			for _, item := range part[wrote:] {
				all.HandedBack = append(all.HandedBack, item.(order).N)
			}
		})
	}
	group.Wait()

	line, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	lines.Scan()
}
