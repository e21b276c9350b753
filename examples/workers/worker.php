<?php
// A worker in PHP that takes tasks from `claimtop api`, without any package.
//
//     CLAIMTOP_API=http://127.0.0.1:8080 CLAIMTOP_KEY=ctk_... php worker.php mailer-1 send_mail
//
// It reports in, claims tasks of one type, does them, and ends when there are none left.

declare(strict_types=1);

final class Queue
{
    public function __construct(private string $url, private string $key, private string $workerId)
    {
    }

    /** The status and the answer; waits where the server asks for patience. */
    public function ask(string $path, array $body = []): array
    {
        $options = ['http' => [
            'method' => 'POST',
            'header' => ["Authorization: Bearer {$this->key}", 'Content-Type: application/json'],
            'content' => json_encode(['worker_id' => $this->workerId] + $body, JSON_THROW_ON_ERROR),
            'ignore_errors' => true,
            'timeout' => 60,
        ]];
        while (true) {
            $answer = file_get_contents($this->url . $path, false, stream_context_create($options));
            if ($answer === false) {
                throw new RuntimeException("no answer from {$this->url}");
            }
            $status = (int) explode(' ', $http_response_header[0])[1];
            if ($status !== 429 && $status !== 503) {
                return [$status, json_decode($answer, true)];
            }
            $wait = preg_grep('/^retry-after:/i', $http_response_header);
            sleep($wait ? (int) explode(':', reset($wait))[1] : 1);
        }
    }

    public function beat(int $done): void
    {
        $this->ask('/api/workers/heartbeat', [
            'hostname' => gethostname(), 'pid' => getmypid(), 'tasks_processed' => $done,
        ]);
    }

    /** A task, or null if there is none. A lost race is tried again at once. */
    public function claim(string $taskType): ?array
    {
        do {
            [$status, $answer] = $this->ask('/api/tasks/claim', ['task_types' => [$taskType]]);
        } while ($status === 409);
        return $status === 200 ? $answer['task'] : null;
    }
}

/** What this worker is for. An exception is a failure that may pass. */
function work(array $params): array
{
    if (!isset($params['text'])) {
        throw new InvalidArgumentException('there is no text to send');
    }
    return ['sent' => strlen($params['text'])];
}

[, $workerId, $taskType] = $argv;
$queue = new Queue(getenv('CLAIMTOP_API'), getenv('CLAIMTOP_KEY'), $workerId);
$done = 0;
// Before the first claim: a worker that was never heard of has no time to lose.
$queue->beat($done);
while ($task = $queue->claim($taskType)) {
    try {
        $result = work($task['params']);
        $queue->ask("/api/tasks/{$task['id']}/complete", ['result' => $result]);
        $done++;
    } catch (InvalidArgumentException $error) {
        $queue->ask("/api/tasks/{$task['id']}/fail", ['error' => $error->getMessage()]);
    }
    // A real worker does this every minute, also in the middle of a long task.
    $queue->beat($done);
}
$queue->ask('/api/workers/sign-off');
echo "$workerId: $done done\n";
