// Serves an emulator from npm on the loopback interface alone, which its own program cannot:
//
//   node serve.mjs FOLDER fauxqs|kinesalite PORT
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, name, port] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));

if (name === "kinesalite") {
  require("kinesalite")({ createStreamMs: 0, deleteStreamMs: 0, shardLimit: 1_000_000 }).listen(port, "127.0.0.1");
} else {
  // fauxqs imports the SQLite of Node.js 22 for what it keeps on disk, of which there is nothing here.
  const hook = `export const resolve = (name, context, next) => name === "node:sqlite"
    ? { url: "data:text/javascript,export class DatabaseSync {}", shortCircuit: true }
    : next(name, context);`;
  register(`data:text/javascript,${encodeURIComponent(hook)}`);
  const { buildApp } = await import(pathToFileURL(`${folder}/node_modules/fauxqs/dist/app.js`));
  await buildApp({ logger: false }).listen({ port, host: "127.0.0.1" });
}
