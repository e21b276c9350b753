const { job, library, verb, database, lease } = require('../job.js');

// The class is the module itself before version 11.
const module_ = library(process.argv.at(-2));
const PgBoss = module_.PgBoss ?? module_;

async function main() {
  const boss = new PgBoss({ connectionString: database, supervise: false, schedule: false });
  boss.on('error', console.error);
  await boss.start();
  await boss.createQueue('jobs');
  if (verb === 'enqueue') await boss.send('jobs', {}, { expireInSeconds: Number(lease ?? 900), retryLimit: 0 });
  if (verb === 'work') await boss.work('jobs', { pollingIntervalSeconds: 0.5 }, job);
  else await boss.stop({ graceful: false });
}

main().then(() => verb === 'work' || process.exit(0), (error) => { console.error(error); process.exit(1); });
