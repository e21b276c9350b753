#!/usr/bin/env python3
"""A worker in Python that takes tasks from `claimtop api`, with the standard library alone.

    CLAIMTOP_API=http://127.0.0.1:8080 CLAIMTOP_KEY=ctk_... python3 worker.py mailer-1 send_mail

It reports in, claims tasks of one type, does them, and ends when there are none left.
"""

import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request


class Queue:
    def __init__(self, url, key, worker_id):
        self.url, self.key, self.worker_id = url, key, worker_id

    def ask(self, path, **body):
        """The status and the answer; waits where the server asks for patience."""
        data = json.dumps({"worker_id": self.worker_id, **body}).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        while True:
            request = urllib.request.Request(self.url + path, data, headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code in (429, 503):
                    time.sleep(int(error.headers.get("Retry-After", "1")))
                    continue
                return error.code, json.load(error)

    def beat(self, done):
        self.ask("/api/workers/heartbeat", hostname=socket.gethostname(), pid=os.getpid(), tasks_processed=done)

    def claim(self, task_type):
        """A task, or None if there is none. A lost race is tried again at once."""
        while True:
            status, answer = self.ask("/api/tasks/claim", task_types=[task_type])
            if status == 200:
                return answer["task"]
            if status != 409:
                return None


def work(params):
    """What this worker is for. An exception is a failure that may pass."""
    if "text" not in params:
        raise ValueError("there is no text to send")
    return {"sent": len(params["text"])}


def main():
    worker_id, task_type = sys.argv[1:3]
    queue = Queue(os.environ["CLAIMTOP_API"], os.environ["CLAIMTOP_KEY"], worker_id)
    done = 0
    # Before the first claim: a worker that was never heard of has no time to lose.
    queue.beat(done)
    while task := queue.claim(task_type):
        try:
            result = work(task["params"])
        except Exception as error:
            queue.ask(f"/api/tasks/{task['id']}/fail", error=str(error))
        else:
            queue.ask(f"/api/tasks/{task['id']}/complete", result=result)
            done += 1
        # A real worker does this every minute, also in the middle of a long task.
        queue.beat(done)
    queue.ask("/api/workers/sign-off")
    print(f"{worker_id}: {done} done")


if __name__ == "__main__":
    main()
