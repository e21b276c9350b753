<?php

require __DIR__ . '/../job.php';
require '/usr/share/php/Illuminate/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Database\Capsule\Manager as Database;
use Illuminate\Events\Dispatcher;
use Illuminate\Queue\Capsule\Manager as Queue;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;

class Task
{
    public function fire($job): void
    {
        job();
        $job->delete();
    }
}

class Errors implements ExceptionHandler
{
    public function report(Throwable $error) { fwrite(STDERR, $error); }
    public function shouldReport(Throwable $error) { return true; }
    public function render($request, Throwable $error) {}
    public function renderForConsole($output, Throwable $error) {}
}

$container = new Container();
Container::setInstance($container);
$server = [
    'driver' => 'pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'database' => getenv('PGDATABASE'),
    'username' => 'claimtop', 'password' => 'none', 'charset' => 'utf8',
];
$database = new Database($container);
$database->addConnection(
    getenv('ENGINE') === 'sqlite' ? ['driver' => 'sqlite', 'database' => getenv('DATABASE')] : $server);
$container->instance('db', $database->getDatabaseManager());
$events = new Dispatcher($container);
$container->instance('events', $events);
$queue = new Queue($container);
$queue->addConnection(['driver' => 'database', 'table' => 'jobs', 'queue' => 'default', 'retry_after' => 90]);

switch ($argv[1]) {
    case 'setup':
        $database->getConnection()->getSchemaBuilder()->create('jobs', function ($table) {
            $table->bigIncrements('id');
            $table->string('queue')->index();
            $table->longText('payload');
            $table->unsignedTinyInteger('attempts');
            $table->unsignedInteger('reserved_at')->nullable();
            $table->unsignedInteger('available_at');
            $table->unsignedInteger('created_at');
        });
        break;
    case 'enqueue':
        $queue->getConnection()->push('Task', []);
        break;
    case 'work':
        $worker = new Worker($queue->getQueueManager(), $events, new Errors(), fn () => false);
        $options = new WorkerOptions('default', 0, 128, 600, 0.1, 1);
        $worker->daemon('default', 'default', $options);
}
