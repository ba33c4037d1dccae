// Loads what a generator yields into a DynamoDB table, by the program batch-deliver.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const lines = async (path) => (await readFile(path, "utf8").catch(() => "")).split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Returns the report, and each item that was not delivered with its cause. Further options are those of `batch-deliver load`. */
export async function load(table, items, options = [], program = "batch-deliver") {
  const folder = await mkdtemp(join(tmpdir(), "load-"));
  try {
    const letters = join(folder, "letters");
    const options_of_load = ["--format", "json", "--json", "--dead-letter", letters, ...options, "-"];
    const running = spawn(program, ["load", "--table", table, ...options_of_load], { stdio: ["pipe", "pipe", "inherit"] });
    const [ended, events] = [once(running, "close"), text(running.stdout)];
    const json = async function* () { for await (const item of items) yield JSON.stringify(item) + "\n"; };
    // The program may end before it has read everything, and its exit code says why.
    await pipeline(Readable.from(json()), running.stdin).catch((error) => {
      if (error.code !== "EPIPE") { running.kill(); throw error; }
    });
    const [code] = await ended;
    // 0: all were delivered. 1: some were not. 2: nothing was started. 130: it was interrupted.
    if (code !== 0 && code !== 1) throw new Error(`batch-deliver has ended with ${code}`);
    const { report } = JSON.parse((await events).trim().split("\n").at(-1));
    const causes = await lines(`${letters}.causes.jsonl`);
    return { report, undelivered: (await lines(letters)).map((item, place) => ({ item, cause: causes[place].cause })) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const numbers = function* () { for (let number = 0; number < 10_000; number++) yield { id: `order-${number}`, cents: number * 37 }; };
  const { report, undelivered } = await load(process.argv[2], numbers(), process.argv.slice(3));
  console.log(report.delivered, "delivered");
  for (const { item, cause } of undelivered) console.log(item.id, cause);
}
