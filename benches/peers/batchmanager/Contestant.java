import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.batchmanager.SqsAsyncBatchManager;
import software.amazon.awssdk.services.sqs.model.SendMessageRequest;

/** SqsAsyncBatchManager: every message is a future; so many connections as there are workers. */
public final class Contestant {
    private static final String NOTE =
            "To be left with the neighbours at number seven, who are at home in the afternoon, or behind the shed.";

    /** Calls that wait for a connection: as many as there can be. */
    private static final int PENDING = 1_000_000;

    public static void main(String[] arguments) throws Exception {
        Map<String, String> flags = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            flags.put(arguments[at], arguments[at + 1]);
        }
        int entries = Integer.parseInt(flags.get("--entries"));
        int groups = Integer.parseInt(flags.getOrDefault("--groups", "0"));
        // A future of a message that the answer does not name is never completed.
        long patience = TimeUnit.SECONDS.toNanos(Long.parseLong(flags.get("--patience")));
        var http = NettyNioAsyncHttpClient.builder()
                .maxConcurrency(Integer.parseInt(flags.get("--workers")))
                .maxPendingConnectionAcquires(PENDING)
                .connectionAcquisitionTimeout(Duration.ofMinutes(10));
        SqsAsyncClient client = SqsAsyncClient.builder()
                .endpointOverride(URI.create(flags.get("--endpoint")))
                .region(Region.US_EAST_1)
                .credentialsProvider(
                        StaticCredentialsProvider.create(AwsBasicCredentials.create("peers", "peers")))
                .httpClientBuilder(http)
                .build();
        SqsAsyncBatchManager manager = client.batchManager();
        List<SendMessageRequest> messages = new ArrayList<>(entries);
        for (int number = 0; number < entries; number++) {
            messages.add(message(flags.get("--target"), number, groups));
        }

        var lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        lines.readLine();

        long start = System.nanoTime();
        List<CompletableFuture<?>> futures = new ArrayList<>(entries);
        for (SendMessageRequest message : messages) {
            futures.add(manager.sendMessage(message));
        }
        boolean failed = false;
        try {
            long left = patience - (System.nanoTime() - start);
            CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).get(left, TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException failure) {
            failed = true;
        }
        List<Integer> handedBack = new ArrayList<>();
        for (int number = 0; number < entries; number++) {
            if (futures.get(number).isCompletedExceptionally()) {
                handedBack.add(number);
            }
        }
        String numbers = handedBack.stream().map(String::valueOf).collect(Collectors.joining(","));
        System.out.println("{\"failed\":" + failed + ",\"handed_back\":[" + numbers + "]}");
        lines.readLine();
        System.exit(0);
    }

    private static SendMessageRequest message(String url, int number, int groups) {
        var message = SendMessageRequest.builder().queueUrl(url).messageBody(number + " " + NOTE);
        if (groups > 0) {
            message.messageGroupId("group-%02d".formatted(number % groups))
                    .messageDeduplicationId(String.valueOf(number));
        }
        return message.build();
    }
}
