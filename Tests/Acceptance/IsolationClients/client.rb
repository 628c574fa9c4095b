# Gets and posts by Net::HTTP.
require "net/http"

base = ARGV[0]
puts Net::HTTP.get(URI("#{base}/get?client=ruby"))
puts Net::HTTP.post(URI("#{base}/post"), "from Ruby").body
