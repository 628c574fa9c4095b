// Gets by fetch, and posts by https.
import https from "node:https";

const base = process.argv[2];
const response = await fetch(`${base}/get?client=node`);
console.log(response.status, await response.text());
const request = https.request(`${base}/post`, { method: "POST" }, async (answer) => {
  let text = "";
  for await (const part of answer) text += part;
  console.log(answer.statusCode, text);
});
request.end("from Node");
