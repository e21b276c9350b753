use Mojo::Base -strict;
use Minion;
use Time::HiRes 'sleep';

sub note {
  open my $log, '>>', $ENV{LOG} or die;
  say $log shift;
}

my $minion
  = $ENV{ENGINE} eq 'sqlite'
  ? Minion->new(SQLite => "sqlite:$ENV{DATABASE}")
  : Minion->new(Pg => $ENV{DATABASE} =~ s/^postgres:/postgresql:/r);

$minion->add_task(
  job => sub {
    note('started');
    sleep 0.05 while -e $ENV{HOLD};
    note('done');
  });

my $verb = shift;
if    ($verb eq 'setup')   { $minion->stats }
elsif ($verb eq 'enqueue') { $minion->enqueue('job') }
else {
  my $worker = $minion->worker;
  $worker->status->{dequeue_timeout} = 1;
  $worker->run;
}
