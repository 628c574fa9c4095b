import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Gets and posts by HttpClient and HttpURLConnection. */
class Client {
  public static void main(String[] words) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest get = HttpRequest.newBuilder(URI.create(words[0] + "/get?client=java")).build();
    System.out.println(client.send(get, HttpResponse.BodyHandlers.ofString()).body());
    HttpRequest post = HttpRequest.newBuilder(URI.create(words[0] + "/post"))
        .POST(HttpRequest.BodyPublishers.ofString("from HttpClient")).build();
    System.out.println(client.send(post, HttpResponse.BodyHandlers.ofString()).body());

    HttpURLConnection connection = (HttpURLConnection) new URL(words[0] + "/post").openConnection();
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.getOutputStream().write("from HttpURLConnection".getBytes());
    System.out.println(new String(connection.getInputStream().readAllBytes()));
  }
}
