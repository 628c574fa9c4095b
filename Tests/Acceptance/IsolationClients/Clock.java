import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;

/** Prints the seconds since 1970 for each line that it reads. */
class Clock {
  public static void main(String[] words) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    while (lines.readLine() != null) System.out.println(Instant.now().getEpochSecond());
  }
}
