<?php

require __DIR__ . '/../job.php';
require '/usr/share/php/Doctrine/DBAL/autoload.php';
require '/usr/share/php/Symfony/Component/Messenger/autoload.php';
require '/usr/share/php/Symfony/Component/Messenger/Bridge/Doctrine/autoload.php';

use Doctrine\DBAL\DriverManager;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\Connection;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\DoctrineTransport;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

class Message {}

$server = [
    'driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'dbname' => getenv('PGDATABASE'),
    'user' => 'claimtop', 'password' => 'none',
];
$database = DriverManager::getConnection(
    getenv('ENGINE') === 'sqlite' ? ['driver' => 'pdo_sqlite', 'path' => getenv('DATABASE')] : $server);
$transport = new DoctrineTransport(new Connection(['queue_name' => 'default'], $database), new PhpSerializer());

switch ($argv[1]) {
    case 'setup':
        $transport->setup();
        break;
    case 'enqueue':
        $transport->send(new Envelope(new Message()));
        break;
    case 'work':
        $handlers = new HandlersLocator([Message::class => [fn () => job()]]);
        $bus = new MessageBus([new HandleMessageMiddleware($handlers)]);
        (new Worker(['default' => $transport], $bus))->run(['sleep' => 100000]);
}
