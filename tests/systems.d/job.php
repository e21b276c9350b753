<?php
// What a job does in every worker written in PHP.

function job(): void
{
    file_put_contents(getenv('LOG'), "started\n", FILE_APPEND);
    while (file_exists(getenv('HOLD'))) {
        clearstatcache();
        usleep(50000);
    }
    file_put_contents(getenv('LOG'), "done\n", FILE_APPEND);
}
