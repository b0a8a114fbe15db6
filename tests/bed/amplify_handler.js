// Runs Amplify's own handler on the events of standard input, one a line, and says after each how it ended.
const { createInterface } = require("node:readline");
const { handler } = require(process.argv[2]);

for (const level of ["debug", "error", "info", "log", "warn"]) {
  console[level] = () => {};
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    let error = null;
    try {
      await handler(JSON.parse(line));
    } catch (thrown) {
      error = `${thrown.name}: ${thrown.message}`;
    }
    process.stdout.write(`${JSON.stringify({ error })}\n`);
  }
}

main();
