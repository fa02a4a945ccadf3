// One computation a key at a time in this process: others that ask meanwhile wait and share the outcome.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"

namespace ferrule {

template <typename Value>
class SingleFlight {
 public:
  // Calls make() unless a call for `key` is under way in another thread; then waits for that one. An exception of
  // make() reaches every waiter, but for Interrupted: then one of them makes it. `watch` is called now and then by who
  // waits; what it throws ends the wait.
  template <typename Make>
  Value run(const std::string& key, Make make, const std::function<void()>& watch = {}) {
    std::unique_lock guard(mutex_);
    // A flight from before a fork has no thread here that would end it.
    for (std::shared_ptr<Flight> other = flights_[key]; other && other->process == getpid(); other = flights_[key]) {
      wait_for(*other, guard, watch);
      if (other->error) std::rethrow_exception(other->error);
      if (other->value) return *other->value;
    }
    std::shared_ptr<Flight> flight = flights_[key] = std::make_shared<Flight>();
    guard.unlock();
    std::optional<Value> value;
    std::exception_ptr error;
    bool interrupted = false;
    try {
      value = make();
    } catch (const Interrupted&) {
      error = std::current_exception();
      interrupted = true;
    } catch (...) {
      error = std::current_exception();
    }
    guard.lock();
    flight->value = value;
    if (!interrupted) flight->error = error;
    flight->ended = true;
    flights_.erase(key);
    guard.unlock();
    landed_.notify_all();
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }

 private:
  struct Flight {
    pid_t process = getpid();
    std::optional<Value> value;
    std::exception_ptr error;
    bool ended = false;  // without value and error: interrupted
  };

  void wait_for(const Flight& flight, std::unique_lock<std::mutex>& guard, const std::function<void()>& watch) {
    while (!landed_.wait_for(guard, std::chrono::milliseconds(50), [&] { return flight.ended; })) {
      if (!watch) continue;
      guard.unlock();
      watch();
      guard.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable landed_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace ferrule
