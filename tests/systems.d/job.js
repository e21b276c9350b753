// What a job does in every worker written in JavaScript, and where the libraries are.

const fs = require('fs');
const path = require('path');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const write = (word) => fs.appendFileSync(process.env.LOG, `${word}\n`);

async function job() {
  write('started');
  while (fs.existsSync(process.env.HOLD)) await sleep(50);
  write('done');
}

// The libraries are beside the Node that runs this.
const modules = path.join(path.dirname(process.execPath), '..', '..');
const library = (name) => require(require.resolve(name, { paths: [modules] }));

module.exports = { job, library, verb: process.argv.at(-1), database: process.env.DATABASE, lease: process.env.LEASE };
