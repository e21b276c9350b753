const { job, library, verb, database } = require('../job.js');
const { run, runMigrations, quickAddJob } = library(process.argv.at(-2));

const options = { connectionString: database, pollInterval: 200, noHandleSignals: true };

async function main() {
  if (verb === 'setup') await runMigrations(options);
  if (verb === 'enqueue') await quickAddJob(options, 'job', {}, { queueName: 'serial', maxAttempts: 1 });
  if (verb === 'work') await run({ ...options, taskList: { job } });
  else process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });
