import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import org.quartz.DisallowConcurrentExecution;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;
import org.quartz.utils.ConnectionProvider;

public class Worker {
    @DisallowConcurrentExecution
    public static class Task implements Job {
        public void execute(JobExecutionContext context) {
            try {
                write("started");
                while (Files.exists(Path.of(System.getenv("HOLD")))) Thread.sleep(50);
                write("done");
            } catch (Exception error) {
                throw new RuntimeException(error);
            }
        }

        private static void write(String word) throws Exception {
            Files.writeString(Path.of(System.getenv("LOG")), word + "\n", StandardOpenOption.APPEND);
        }
    }

    public static class Connections implements ConnectionProvider {
        public Connection getConnection() throws SQLException {
            String address = System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
            return DriverManager.getConnection("jdbc:postgresql://" + address, "claimtop", "none");
        }

        public void initialize() {}

        public void shutdown() {}
    }

    private static Scheduler scheduler() throws Exception {
        Properties properties = new Properties();
        properties.put("org.quartz.scheduler.instanceName", "proof");
        properties.put("org.quartz.scheduler.instanceId", "AUTO");
        properties.put("org.quartz.threadPool.threadCount", "1");
        properties.put("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX");
        properties.put("org.quartz.jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
        properties.put("org.quartz.jobStore.isClustered", "true");
        properties.put("org.quartz.jobStore.clusterCheckinInterval", "1000");
        properties.put("org.quartz.jobStore.dataSource", "proof");
        properties.put("org.quartz.dataSource.proof.connectionProvider.class", Connections.class.getName());
        return new StdSchedulerFactory(properties).getScheduler();
    }

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setContextClassLoader(Worker.class.getClassLoader());
        Scheduler scheduler = scheduler();
        if (arguments[0].equals("enqueue")) {
            // Twice: a firing that was interrupted is not repeated, but the next one has to come.
            var schedule = SimpleScheduleBuilder.simpleSchedule().withIntervalInSeconds(1).withRepeatCount(1);
            var trigger = TriggerBuilder.newTrigger().startNow().withSchedule(schedule).build();
            scheduler.scheduleJob(JobBuilder.newJob(Task.class).build(), trigger);
            scheduler.shutdown();
        } else {
            scheduler.start();
        }
    }
}
