// Asks the worker one question at a time. Only the newest question waits; its answer replaces those of older ones.
const PATIENCE = 4_000; // milliseconds that a newer question waits for an older one, which is ended then

const LONGEST = 10_000; // milliseconds that any question may take, as a file in the command line

export class Engine {
  #worker;
  #asked = null; // what the worker works on
  #next = null;
  #timer = 0;
  #deadline = 0;
  #ready = false;

  constructor(heard) {
    this.heard = heard;
    this.#start();
  }

  ask(question) {
    this.#next = question;
    if (!this.#asked) this.#proceed();
    else if (this.#ready) this.#timer ||= setTimeout(() => this.#restart(), PATIENCE);
  }

  #start() {
    this.#ready = false;
    this.#worker = new Worker("worker.js", { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = () => this.#take({ fatal: "The engine could not start; reload the page." });
  }

  #giveUp() {
    const question = this.#asked;
    if (!this.#next) this.heard({ fatal: "This text takes more than 10 s; split it, or make its objects smaller." }, question);
    this.#restart();
  }

  #restart() {
    this.#worker.terminate();
    clearTimeout(this.#deadline);
    this.#asked = null;
    this.#start();
    this.#proceed();
  }

  #proceed() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#asked || !this.#next) return;
    [this.#asked, this.#next] = [this.#next, null];
    this.#worker.postMessage(this.#asked);
    if (this.#ready) this.#watch();
  }

  #watch() {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#giveUp(), LONGEST);
  }

  #take(message) {
    if (message.ready) {
      this.#ready = true;
      if (this.#asked) this.#watch();
      return this.heard(message, null);
    }
    clearTimeout(this.#deadline);
    const question = this.#asked;
    this.#asked = null;
    if (!this.#next) this.heard(message, question); // an answer that nobody waits for any more is dropped
    if (message.fatal && this.#ready) this.#restart();
    else this.#proceed();
  }
}
