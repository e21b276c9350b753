const fs = require('fs');
const { job, library, verb, database } = require('../job.js');
const knex = library('knex')({ client: 'pg', connection: database });

// The migrations still to be done are the jobs: their names are in a file.
const names = () => (fs.existsSync('migrations') ? fs.readFileSync('migrations', 'utf8').split('\n').filter(Boolean) : []);
const migrationSource = {
  getMigrations: async () => names(),
  getMigrationName: (name) => name,
  getMigration: async () => ({ up: job, down: async () => {}, config: { transaction: false } }),
};

async function main() {
  if (verb === 'setup') await knex.migrate.latest({ migrationSource });
  if (verb === 'enqueue') fs.appendFileSync('migrations', `m${names().length}\n`);
  if (verb === 'work') await knex.migrate.latest({ migrationSource });
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });
