require 'active_record'
require 'delayed_job_active_record'

is_sqlite = ENV['ENGINE'] == 'sqlite'
ActiveRecord::Base.establish_connection(
  is_sqlite ? { adapter: 'sqlite3', database: ENV['DATABASE'], timeout: 30_000 } : { adapter: 'postgresql' }
)

Task = Struct.new(:number) do
  def perform
    write('started')
    sleep 0.05 while File.exist?(ENV['HOLD'])
    write('done')
  end

  def write(word)
    File.write(ENV['LOG'], "#{word}\n", mode: 'a')
  end
end

case ARGV[0]
when 'setup'
  ActiveRecord::Schema.define do
    create_table :delayed_jobs do |table|
      table.integer :priority, default: 0, null: false
      table.integer :attempts, default: 0, null: false
      table.text :handler, null: false
      table.text :last_error
      table.datetime :run_at
      table.datetime :locked_at
      table.datetime :failed_at
      table.string :locked_by
      table.string :queue
      table.timestamps null: true
    end
  end
when 'enqueue'
  Delayed::Job.enqueue(Task.new(1))
when 'work'
  Delayed::Worker.sleep_delay = 0.1
  Delayed::Worker.new.start
end
