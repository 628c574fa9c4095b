// Prints the seconds since 1970 for each line that it reads.
import Foundation

setvbuf(stdout, nil, _IOLBF, 0)
while readLine() != nil { print(Int(Date().timeIntervalSince1970)) }
